"""Which proxy next. Dead ones sit on the bench for a growing while; nothing ever goes direct.

Limit: a proxy that forwards but cannot reach the target looks dead too, so a target that is down
benches them all; the harvest then waits and tries again by itself.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from .base.backoff import Rest
from .errors import Unavailable

logger = logging.getLogger(__name__)

FIRST_BENCH_S = 30.0
LONGEST_BENCH_S = 3600.0


def without_password(url: str) -> str:
    """
    >>> without_password("socks5h://me:secret@10.0.0.1:1080")
    'socks5h://10.0.0.1:1080'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class Proxies:
    """Takes turns among the proxies that work. Any number of threads may share it."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._urls = tuple(urls)
        self._turn = itertools.count()
        self._benches = {url: Rest(FIRST_BENCH_S, LONGEST_BENCH_S, clock=clock) for url in urls}

    def __bool__(self) -> bool:
        return bool(self._urls)

    def next(self) -> str:
        """The next proxy in turn; Unavailable if all of them are on the bench."""
        first = next(self._turn)
        for step in range(len(self._urls)):
            url = self._urls[(first + step) % len(self._urls)]
            if not self._benches[url].left:
                return url
        wait = min(bench.left for bench in self._benches.values())
        raise Unavailable(f"none of the {len(self._urls)} proxies works", delay=max(wait, 1.0))

    def bench(self, url: str, reason: str) -> None:
        """It failed. Requests under way together fail together: that is one failure."""
        if (pause := self._benches[url].begin()) is not None:
            logger.warning("proxy %s benched for %.0f s: %s", without_password(url), pause, reason)

    def succeeded(self, url: str) -> None:
        """It worked: the next failure counts as the first."""
        self._benches[url].succeeded()
