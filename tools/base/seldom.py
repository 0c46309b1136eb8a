"""Something that may take its time, and so is asked seldom."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from ..errors import HarvestError

T = TypeVar("T")

TIMES = 20
LATE_S = 10.0
FIRST_S = 0.5  # so long whoever asks first waits for what is asked aside: most answer by then

logger = logging.getLogger(__name__)


class Answer(NamedTuple, Generic[T]):
    """`time` is that of the wall clock at which it was known."""

    value: T
    time: float

    def as_of(self, now: float) -> float | None:
        """If it is so old that this is worth saying."""
        return self.time if now - self.time > LATE_S else None


class Seldom(Generic[T]):
    """Asked anew only after twenty times as long as the last answer took, or `least_s`; by one
    thread at a time, while others have the last answer."""

    def __init__(self, ask: Callable[[], T], least_s: float = 0.0) -> None:
        self._ask = ask
        self._least_s = least_s
        self._answers: list[Answer[T]] = []  # the last one, if there is one
        self._failure: HarvestError | None = None
        self._due = 0.0
        self._asking = threading.Lock()

    def __call__(self) -> T:
        if self._is_due() and self._asking.acquire(blocking=not self._answers):
            try:
                if self._is_due():  # else somebody has asked while this one waited
                    self._renew()
            finally:
                self._asking.release()
        return self._answers[0].value

    def _is_due(self) -> bool:
        return not self._answers or time.monotonic() >= self._due

    def _renew(self) -> None:
        begun = time.monotonic()
        self._answers = [Answer(self._ask(), time.time())]
        self._put_off(begun)

    def _put_off(self, begun: float) -> None:
        now = time.monotonic()
        self._due = now + max(self._least_s, TIMES * (now - begun))


class Aside(Seldom[T]):
    """Asked in a thread of its own, for which nobody waits: not who has the last answer meanwhile,
    nor the end of the process. Only who asks first of all waits a moment. None before there is an
    answer; what was wrong with the last question is raised."""

    def known(self) -> Answer[T] | None:
        if time.monotonic() >= self._due and self._asking.acquire(blocking=False):
            work = threading.Thread(target=self._work, name="aside", daemon=True)
            try:
                is_first = not self._due
                work.start()
            except BaseException:
                self._asking.release()
                raise
            if is_first:
                work.join(FIRST_S)
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self.last

    @property
    def last(self) -> Answer[T] | None:
        """Whatever became of the questions since; nothing is asked."""
        return next(iter(self._answers), None)

    @property
    def trouble(self) -> str:
        """What was wrong with the last question, if anything was."""
        return "" if self._failure is None else str(self._failure)

    def _work(self) -> None:
        begun = time.monotonic()
        try:
            self._renew()
            self._failure = None
        except HarvestError as error:
            self._failure = error
        except Exception:  # a mistake of ours: the last answer stands
            logger.exception("what is asked aside gives no answer")
        finally:
            self._put_off(begun)
            self._asking.release()
