"""The peer of `bench/fetch.py`: what one writes with requests and a thread pool in ten minutes.

It walks the same pages with as many threads and stores nothing: no pools, no graph, no filter, no
retries. One session whose pool holds a connection for each thread; every task submits what it
finds itself, and a counter says when all is done, so that nobody waits on a growing set of futures.

    python bench/peer.py http://127.0.0.1:8084 /c/en/dog 8 [lean]

A plain session looks for proxies and a .netrc in the environment at every request, a lean one does
not. The plain one is the peer; the lean one shows how much of the difference that is.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import requests
from requests.adapters import HTTPAdapter


class Walk:
    def __init__(self, base: str, workers: int, is_lean: bool) -> None:
        self.seen: set[str] = set()
        self.ended = Event()
        self.error: BaseException | None = None
        self._base = base
        self._lock = Lock()
        self._open = 0
        self._session = requests.Session()
        self._session.trust_env = not is_lean
        self._session.mount("http://", HTTPAdapter(pool_maxsize=workers))
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, concepts: set[str]) -> None:
        with self._lock:
            new = concepts - self.seen
            self.seen |= new
            self._open += len(new)
        for concept in new:
            self._pool.submit(self._visit, concept)

    def _visit(self, concept: str) -> None:
        try:
            response = self._session.get(f"{self._base}{concept}?limit=1000", timeout=60)
            edges = response.json()["edges"]
            self.submit({edge[side]["@id"] for edge in edges for side in ("start", "end")})
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


def main(base: str, seed: str, workers: str, kind: str = "plain") -> None:
    walk = Walk(base, int(workers), kind == "lean")
    walk.submit({seed})
    walk.ended.wait()
    walk.close()
    if walk.error is not None:
        raise walk.error
    print(len(walk.seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
