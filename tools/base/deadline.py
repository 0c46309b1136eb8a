"""A deadline for work that has none of its own, as a driver's that waits for a silent server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """What it gives or raises; TimeoutError after these seconds. It cannot be broken off: it ends
    aside, whenever it does, and keeps nobody's program from ending."""
    outcome: Future[T] = Future()
    Thread(target=_settle, args=(outcome, work), name="deadline", daemon=True).start()
    return outcome.result(seconds)


def _settle(outcome: Future[T], work: Callable[[], T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:  # whoever waits decides what it is
        outcome.set_exception(error)
