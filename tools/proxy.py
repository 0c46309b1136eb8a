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

from .errors import Unavailable

logger = logging.getLogger(__name__)

FIRST_BENCH_S = 30.0
LONGEST_BENCH_S = 3600.0
MOST_DOUBLINGS = 10


def without_password(url: str) -> str:
    """
    >>> without_password("socks5h://me:secret@10.0.0.1:1080")
    'socks5h://10.0.0.1:1080'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class Proxies:
    """Takes turns among the proxies that work. From any thread: each step is one assignment."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._urls = tuple(urls)
        self._clock = clock
        self._turn = itertools.count()
        self._benched_until: dict[str, float] = {}
        self._failures: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._urls)

    def next(self) -> str:
        """The next proxy in turn; Unavailable if all of them are on the bench."""
        now = self._clock()
        first = next(self._turn)
        for step in range(len(self._urls)):
            url = self._urls[(first + step) % len(self._urls)]
            if self._benched_until.get(url, 0.0) <= now:
                return url
        wait = min(self._benched_until.values()) - now
        raise Unavailable(f"none of the {len(self._urls)} proxies works", delay=max(wait, 1.0))

    def bench(self, url: str, reason: str) -> None:
        """It failed. Requests under way together fail together: that is one failure."""
        failures = self._failures.get(url, 0) + 1  # read before and written after the other
        now = self._clock()
        if self._benched_until.get(url, 0.0) > now:
            return
        pause = min(FIRST_BENCH_S * 2 ** min(failures - 1, MOST_DOUBLINGS), LONGEST_BENCH_S)
        self._benched_until[url] = now + pause
        self._failures[url] = failures
        logger.warning("proxy %s benched for %.0f s: %s", without_password(url), pause, reason)

    def succeeded(self, url: str) -> None:
        """It worked: the next failure counts as the first."""
        self._failures.pop(url, None)
