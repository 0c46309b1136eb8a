"""A peer of `bench/pages.py`: what one writes with requests, a thread pool and lxml in ten minutes.

It walks a site with as many threads and stores nothing: no archive, no table, no words, no queue
that outlives it.

    python bench/pages_walk.py http://127.0.0.1:8081/index.html 8
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from urllib.parse import urldefrag, urljoin, urlsplit

import requests
from lxml import html
from requests.adapters import HTTPAdapter


class Walk:
    def __init__(self, seed: str, threads: int) -> None:
        self.seen: set[str] = set()
        self.ended = Event()
        self.error: BaseException | None = None
        self._host = urlsplit(seed).netloc
        self._lock = Lock()
        self._open = 0
        self._session = requests.Session()
        self._session.mount("http://", HTTPAdapter(pool_maxsize=threads))
        self._pool = ThreadPoolExecutor(threads)

    def submit(self, addresses: set[str]) -> None:
        with self._lock:
            new = {each for each in addresses - self.seen if urlsplit(each).netloc == self._host}
            self.seen |= new
            self._open += len(new)
        for address in new:
            self._pool.submit(self._visit, address)

    def _visit(self, address: str) -> None:
        try:
            response = self._session.get(address, timeout=60)
            if "html" in response.headers.get("Content-Type", ""):
                found = html.fromstring(response.content).xpath("//a/@href")
                self.submit({urldefrag(urljoin(address, each))[0] for each in found})
        except BaseException as error:
            self.error = error
            self.ended.set()
        with self._lock:
            self._open -= 1
            if not self._open:
                self.ended.set()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._session.close()


def main(seed: str, threads: str) -> None:
    walk = Walk(seed, int(threads))
    walk.submit({seed})
    walk.ended.wait()
    walk.close()
    if walk.error is not None:
        raise walk.error
    print(len(walk.seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
