"""Writes down how far the harvest is: the points of its curves, and what hosts were asked.

Promise: while a harvest works, the latest sample is a few seconds old at most. Samples are close
together while there are few, and never many: a day has some thousand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..engine.pools import Pools

Traffic = Callable[[], Mapping[str, tuple[int, int]]]
"""Requests and bytes of each host, since this was last asked."""

POINTS = 300  # in a curve of the harvest so far; more would not be seen
CLOSEST_S, CURRENT_S, WIDEST_S = 1.0, 3.0, 60.0


class Sampler:
    """Samples that stay lie a part of the time worked apart, until that is a minute: from then on
    only those stay that the clock asks for. The latest one is replaced every few seconds."""

    def __init__(
        self,
        pools: Pools,
        traffic: Traffic,
        clock: Callable[[], float] = time.monotonic,
        facts: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`facts` are written down with each sample."""
        self._pools = pools
        self._traffic = traffic
        self._clock = clock
        self._facts = facts
        self._begun = clock()
        self._run = pools.next_run()
        self._worked_before = pools.seconds_worked()
        self._latest: float | None = None
        self._latest_kept = 0.0

    @property
    def has_begun(self) -> bool:
        return self._latest is not None

    @property
    def elapsed(self) -> float:
        return self._clock() - self._begun

    def refresh(self) -> None:
        """Called often; it is time for a new one only now and then."""
        now = self.elapsed
        gap = max(CLOSEST_S, (self._worked_before + now) / POINTS)
        if self._latest is None or now - self._latest >= min(gap, CURRENT_S):
            self._write(stays=now - self._latest_kept >= gap and gap < WIDEST_S)

    def keep(self) -> None:
        self._write(stays=True)

    def _write(self, stays: bool) -> None:
        """From two threads, perhaps at this moment: nothing may be counted twice."""
        facts = self._facts()
        with self._pools.changed:
            elapsed, latest = self.elapsed, self._latest
            replaced = latest if latest is not None and latest > self._latest_kept else None
            self._pools.sample(self._run, elapsed, self._traffic(), replaced, stays, facts)
            self._latest = elapsed
            if stays or latest is None:
                self._latest_kept = elapsed
