"""Pauses that grow: twice as long after every failure in a row, up to a longest one."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

MOST_DOUBLINGS = 10  # beyond any longest pause; the number stays small however long it fails


def pause_after(
    failures: int, first_s: float, longest_s: float = math.inf, spread: float = 0.0
) -> float:
    """Seconds to wait after so many failures in a row. They are spread at random, by that share to
    both sides but never beyond the longest, so that many who failed together do not come back
    together.

    >>> [pause_after(failures, 30.0, 100.0) for failures in (1, 2, 3, 1000)]
    [30.0, 60.0, 100.0, 100.0]
    """
    grown = first_s * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    return min(grown * random.uniform(1 - spread, 1 + spread), longest_s)


class Rest:
    """How long somebody is left alone. From any thread: each step is one assignment.

    Those under way together fail together: that is one failure, and the pause grows once.
    """

    def __init__(
        self,
        first_s: float,
        longest_s: float,
        spread: float = 0.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._pauses = first_s, longest_s, spread
        self._clock = clock or time.monotonic
        self._failures = 0  # in a row
        self.until = 0.0

    @property
    def left(self) -> float:
        """Seconds; 0 if it does not rest."""
        return max(0.0, self.until - self._clock())

    def begin(self, asked: float | None = None) -> float | None:
        """It failed and rests for so long: as asked, else for a while that grows. None if it rests
        already; then only what was asked can make it longer, and nothing shorter."""
        failures = self._failures + 1  # read before and written after the other: no lock needed
        now = self._clock()
        if self.until > now:
            self.until = max(self.until, now + (asked or 0.0))
            return None
        pause = pause_after(failures, *self._pauses) if asked is None else asked
        self.until = now + pause
        self._failures = failures
        return pause

    def succeeded(self) -> None:
        """It answered: the next failure counts as the first."""
        self._failures = 0
