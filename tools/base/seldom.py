"""Something that may take its time, and so is asked seldom."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

TIMES = 20


class Seldom(Generic[T]):
    """Asked anew only after twenty times as long as the last answer took, or `least_s`; by one
    thread at a time, while others have the last answer."""

    def __init__(self, ask: Callable[[], T], least_s: float = 0.0) -> None:
        self._ask = ask
        self._least_s = least_s
        self._answer: list[T] = []
        self._due = 0.0
        self._asking = threading.Lock()

    def __call__(self) -> T:
        if self._is_due() and self._asking.acquire(blocking=not self._answer):
            try:
                if self._is_due():  # else somebody has asked while this one waited
                    self._renew()
            finally:
                self._asking.release()
        return self._answer[0]

    def _is_due(self) -> bool:
        return not self._answer or time.monotonic() >= self._due

    def _renew(self) -> None:
        begun = time.monotonic()
        self._answer = [self._ask()]
        now = time.monotonic()
        self._due = now + max(self._least_s, TIMES * (now - begun))
