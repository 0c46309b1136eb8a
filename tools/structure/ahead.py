"""The JSON of documents whose turn comes soon, read together: one by one costs more than a walk.

Promise: what is given is what was stored when its task was handed out, or later. Limit: one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine.stage import Task
from .documents import Documents
from .queues import hash_of

MOST_BYTES = 32_000_000  # packed, that are held at a time


class Ahead:
    """`tasks` are those that are handed out now."""

    def __init__(self, documents: Documents, tasks: Callable[[], Sequence[Task]]) -> None:
        self._documents = documents
        self._tasks = tasks
        self._read: dict[int, tuple[bytes, str]] = {}  # by token: a second lease reads anew

    def json_of(self, task: Task) -> tuple[bytes, str] | None:
        """And the source whose bytes were parsed; None if there is no such document."""
        found = self._read.pop(task.token, None)
        if found is None:
            self._look_ahead(task)
            found = self._read.pop(task.token, None)
        return None if found is None else (self._documents.unpacked(found[0]), found[1])

    def _look_ahead(self, task: Task) -> None:
        tokens = {hash_of(each.uri): each.token for each in self._tasks() if not each.holder}
        own = hash_of(task.uri)
        tokens[own] = task.token
        self._read = {}
        held = 0
        hashes = [own, *(each for each in tokens if each != own)]
        for hash_, packed, source in self._documents.packed(hashes):
            self._read[tokens[hash_]] = packed, source
            held += len(packed)
            if held > MOST_BYTES and task.token in self._read:
                return
