"""How many of something there are in a minute. Limit: for one thread, or with a lock."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

SECONDS = 60


class LastMinute:
    """A number for each second of it, and no more."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._seconds: deque[tuple[int, int]] = deque(maxlen=SECONDS)

    def add(self) -> None:
        now, before = self._clock(), 0
        self._begun = now if self._begun is None else self._begun
        if self._seconds and self._seconds[-1][0] == int(now):
            _, before = self._seconds.pop()
        self._seconds.append((int(now), before + 1))

    def count(self) -> int:
        """Of a whole minute; if the first is not over, as many as it would have at this pace."""
        now = self._clock()
        number = sum(n for second, n in list(self._seconds) if second > int(now) - SECONDS)
        seconds = now - (now if self._begun is None else self._begun)
        return round(number * SECONDS / seconds) if 1 <= seconds < SECONDS else number
