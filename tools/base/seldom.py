"""Something that may take its time, and so is asked seldom."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

TIMES = 20


class Seldom(Generic[T]):
    """Asked anew only after twenty times as long as the last answer took, or `least_s`."""

    def __init__(self, ask: Callable[[], T], least_s: float = 0.0) -> None:
        self._ask = ask
        self._least_s = least_s
        self._answer: list[T] = []
        self._due = 0.0

    def __call__(self) -> T:
        begun = time.monotonic()
        if not self._answer or begun >= self._due:
            self._answer = [self._ask()]
            now = time.monotonic()
            self._due = now + max(self._least_s, TIMES * (now - begun))
        return self._answer[0]
