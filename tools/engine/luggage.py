"""What tasks leave for the next stage's task of the same URI, in memory.

Promise: bounded in number, by the queue of the stage that leaves it and what is handed out of it
and of the next one, and in bytes.
Beyond that the oldest is dropped, and so goes what nobody ever fetches. Whoever finds nothing makes
it anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from threading import Lock

from .stage import Done, Stage, Task

MOST_BYTES = 64_000_000  # for one stage, as `sys.getsizeof` tells them


class Shelf:
    """What is left for one stage, by URI."""

    def __init__(self) -> None:
        self._kept: dict[str, object] = {}
        self._bytes = 0

    def put(self, uri: str, luggage: object, most: int) -> None:
        self.take(uri)
        self._kept[uri] = luggage
        self._bytes += sys.getsizeof(luggage)
        while self._kept and (len(self._kept) > most or self._bytes > MOST_BYTES):
            self.take(next(iter(self._kept)))

    def take(self, uri: str) -> object:
        luggage = self._kept.pop(uri, None)
        if luggage is not None:
            self._bytes -= sys.getsizeof(luggage)
        return luggage


class Luggage:
    """Of an executor that works on these stages. A stage without a queue leaves none."""

    def __init__(self, stages: Iterable[Stage]) -> None:
        self._stages = {stage.waiting: stage for stage in stages}
        self._shelves = {pool: Shelf() for pool in self._stages}
        self._lock = Lock()

    def leave(self, task: Task, done: Done) -> None:
        queue, shelf = task.stage.queue, self._shelves.get(done.to)
        if done.luggage is not None and queue is not None and shelf is not None:
            with self._lock:
                most = queue + sum(
                    stage.workers * stage.ahead for stage in (task.stage, self._stages[done.to])
                )
                shelf.put(task.uri, done.luggage, most)

    def fetch(self, task: Task) -> object:
        return self._take(task.stage.waiting, task.uri)

    def drop(self, task: Task, done: Done) -> None:
        """It has not come to the next stage."""
        if done.luggage is not None:
            self._take(done.to, task.uri)

    def _take(self, pool: str, uri: str) -> object:
        with self._lock:
            return self._shelves[pool].take(uri) if pool in self._shelves else None
