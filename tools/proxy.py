"""Which proxy next. Dead ones sit on the bench for a growing while; nothing ever goes direct.

Promise: where proxies are fetched from a list, one thread asks for it at a time, and each of
them is used so many times and no more before the list is asked for again.

Limit: a proxy that forwards but cannot reach the target looks dead too, so a target that is down
benches them all; the harvest then waits and tries again by itself.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Sequence
from threading import Lock
from urllib.parse import urlsplit

from .base.backoff import Rest
from .errors import HarvestError, Interrupted, ServerTrouble, Unavailable

logger = logging.getLogger(__name__)

FIRST_BENCH_S = 30.0
LONGEST_BENCH_S = 3600.0
LONGEST_WAIT_S = 120.0  # for another thread that fetches the list


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
        bench = self._benches.get(url)  # none: it is no longer on the list
        if bench is not None and (pause := bench.begin()) is not None:
            logger.warning("proxy %s benched for %.0f s: %s", without_password(url), pause, reason)

    def succeeded(self, url: str) -> None:
        """It worked: the next failure counts as the first."""
        if (bench := self._benches.get(url)) is not None:
            bench.succeeded()


class FetchedProxies(Proxies):
    """Those that a list names now, each for so many uses; then the list is asked for again."""

    def __init__(
        self,
        fetch: Callable[[], Sequence[str]],
        uses: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__((), clock)
        self._fetch, self._uses, self._clock = fetch, uses, clock
        self._left: dict[str, int] = {}
        self._lock = Lock()
        self._asking = Rest(FIRST_BENCH_S, LONGEST_BENCH_S, clock=clock)

    def __bool__(self) -> bool:
        return True

    def next(self) -> str:
        if not self._lock.acquire(timeout=LONGEST_WAIT_S):
            raise Unavailable("the list of proxies does not come", delay=FIRST_BENCH_S)
        try:
            url = self._usable() or self._from_new_list()
            self._left[url] -= 1
            return url
        finally:
            self._lock.release()

    def _usable(self) -> str | None:
        first = next(self._turn)
        for step in range(len(self._urls)):
            url = self._urls[(first + step) % len(self._urls)]
            if self._left[url] and not self._benches[url].left:
                return url
        return None

    def _from_new_list(self) -> str:
        if rest := self._asking.left:
            raise Unavailable("no proxy works, and the list was just asked for", delay=rest)
        try:
            self._take(self._fetch())
        except Interrupted:
            raise
        except HarvestError as error:
            self._asking.begin()
            raise ServerTrouble(f"no list of proxies: {error}") from error
        if (url := self._usable()) is None:
            self._asking.begin()
            raise Unavailable("none of the listed proxies works", delay=max(1.0, self._asking.left))
        self._asking.succeeded()
        return url

    def _take(self, urls: Sequence[str]) -> None:
        """Who sat on the bench stays there."""
        self._urls = tuple(dict.fromkeys(urls))
        self._left = dict.fromkeys(self._urls, self._uses)
        self._benches = {
            url: self._benches.get(url) or Rest(FIRST_BENCH_S, LONGEST_BENCH_S, clock=self._clock)
            for url in self._urls
        }
