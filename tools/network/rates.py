"""So many requests in a second, a minute, an hour, a day: may one be made now?

Promise: the host itself, in any stretch of such a length, sees no more than a tenth more and one:
those of a second come one after the other and not together, and for longer ones it counts that a
request may be a moment on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from pyrate_limiter import InMemoryBucket, Rate, RateItem

MOMENT_MS = 100
MOST_SPACED = 500  # in a second; the clock is too coarse for more


def spaced(rates: Iterable[tuple[int, int]]) -> Iterator[Rate]:
    """One that allows more than those before it anyway is left out."""
    last = float("inf")
    for most, seconds in rates:
        if seconds == 1 and most <= MOST_SPACED:
            rate = Rate(1, ceil(1000 / most))
        else:
            rate = Rate(most, seconds * 1000 + MOMENT_MS * (seconds > 1))
        if rate.limit / rate.interval <= last:
            last = rate.limit / rate.interval
            yield rate


class Rates:
    """Those of one host."""

    def __init__(self, host: str, rates: Iterable[tuple[int, int]]) -> None:
        """So many in so many seconds, from the shortest time on."""
        self._host = host
        self._bucket = InMemoryBucket(list(spaced(rates)))

    def take(self) -> float:
        """0 if a request may be made now, which counts then; else the seconds to wait."""
        now = self._now()
        self._bucket.leak(now)
        if self._bucket.put(RateItem(self._host, now)):
            return 0.0
        filling = ((rate, self._bucket.peek(rate.limit - 1)) for rate in self._bucket.rates)
        waits = [item.timestamp + rate.interval - now + 1 for rate, item in filling if item]
        return max(waits, default=1) / 1000

    def remember(self, ages: Sequence[float]) -> None:
        """Requests were made so many seconds ago, before we began."""
        now = self._now()
        moments = sorted(now - int(age * 1000) for age in ages)
        self._bucket.items = [RateItem(self._host, moment) for moment in moments]

    def _now(self) -> int:
        return int(self._bucket.now())  # type: ignore[no-untyped-call]
