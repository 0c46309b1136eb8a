"""So many requests in a second, a minute, an hour, a day: may one be made now?

Promise: the host itself, in any stretch of such a length, sees no more than a tenth more and one:
those of a second come one after the other and not together, and for longer ones it counts that a
request may be a moment on its way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from threading import Lock

from pyrate_limiter import InMemoryBucket, Rate, RateItem

MOMENT_MS = 100
EVENLY = 50  # so often in a second some come: the clock is too coarse to space very many singly


def spaced(rates: Iterable[tuple[int, int]]) -> Iterator[Rate]:
    """One that allows more than those before it anyway is left out."""
    last = float("inf")
    for most, seconds in rates:
        rate = _spaced(most) if seconds == 1 else Rate(most, seconds * 1000 + MOMENT_MS)
        if rate.limit / rate.interval <= last:
            last = rate.limit / rate.interval
            yield rate


def _spaced(most: int) -> Rate:
    """Of a second. Those that come together are made up for; an interval is over when it has passed
    and another millisecond."""
    together = max(1, most // EVENLY)
    return Rate(together, max(1, ceil(1000 * together / (most - together + 1)) - 1))


class Rates:
    """Those of one host. Any number of threads may share it."""

    def __init__(self, host: str, rates: Iterable[tuple[int, int]]) -> None:
        """So many in so many seconds, from the shortest time on."""
        self._host = host
        self._bucket = InMemoryBucket(list(spaced(rates)))
        self._lock = Lock()  # moments are in order

    def take(self) -> int | None:
        """This moment, which counts from now on, if a request may be made; else None."""
        with self._lock:
            now = self._now()
            self._bucket.leak(now)
            return now if self._bucket.put(RateItem(self._host, now)) else None

    def left(self) -> float:
        """Seconds to wait until one may be made."""
        now = self._now()
        filling = ((rate, self._bucket.peek(rate.limit - 1)) for rate in self._bucket.rates)
        waits = [item.timestamp + rate.interval - now + 1 for rate, item in filling if item]
        return max(1, *waits) / 1000 if waits else 0.001

    def forget(self, moment: int) -> None:
        """No request was made at this moment."""
        with self._lock:
            items = self._bucket.items
            at = bisect_left(items, moment, key=lambda item: item.timestamp)
            if at < len(items) and items[at].timestamp == moment:
                del items[at]

    def remember(self, ages: Sequence[float]) -> None:
        """Requests were made so many seconds ago, before we began."""
        now = self._now()
        moments = sorted(now - int(age * 1000) for age in ages)
        self._bucket.items = [RateItem(self._host, moment) for moment in moments]

    def _now(self) -> int:
        return int(self._bucket.now())  # type: ignore[no-untyped-call]
