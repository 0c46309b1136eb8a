"""Brings finished tasks home: their records into the store, then their URIs into the next pool.

Promise: a task moves on only after its records are committed. Tasks that finish at the same time
share one transaction of the store and one of the pools: a transaction each is what makes storing
slow. One whose records cannot be stored fails alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from tools.errors import Fatal, Unavailable
from tools.pools import Pools
from tools.stage import Done, Task

MOST_AT_ONCE = 2000  # measured with Neo4j: fewer cost its rate, more do not raise it

Store = Callable[[Sequence[Any]], None]
"""Writes the records of several tasks, all or nothing."""

Verdict = Callable[[Task, Exception | None], None]
"""Told of each task when it has moved on (None), or why it could not be stored."""


class _Result(NamedTuple):
    task: Task
    done: Done
    tell: Verdict


class Settler(Thread):
    def __init__(self, pools: Pools, store: Store, on_fatal: Callable[[Fatal], None]) -> None:
        super().__init__(name="settler", daemon=True)
        self._pools = pools
        self._store = store
        self._on_fatal = on_fatal
        self._inbox: SimpleQueue[_Result | None] = SimpleQueue()

    def put(self, task: Task, done: Done, tell: Verdict) -> None:
        self._inbox.put(_Result(task, done, tell))

    def close(self, patience_s: float) -> bool:
        """Ends after everything handed in before this; False if the store takes longer."""
        self._inbox.put(None)
        self.join(patience_s)
        return not self.is_alive()

    def run(self) -> None:
        while (first := self._inbox.get()) is not None:
            batch, is_last = self._gather(first)
            try:
                self._settle(batch)
            except Fatal as error:
                self._on_fatal(error)
            if is_last:
                return

    def _gather(self, first: _Result) -> tuple[list[_Result], bool]:
        """Everything that waits now, up to the limit; and whether the end was among it."""
        batch = [first]
        while len(batch) < MOST_AT_ONCE:
            try:
                result = self._inbox.get_nowait()
            except Empty:
                break
            if result is None:
                return batch, True
            batch.append(result)
        return batch, False

    def _settle(self, batch: Sequence[_Result]) -> None:
        records = [each.done.records for each in batch if each.done.records is not None]
        try:
            if records:
                self._store(records)
        except Exception as error:
            self._settle_failed(batch, error)
            return
        self._pools.advance(*((each.task, each.done) for each in batch))
        for each in batch:
            each.tell(each.task, None)

    def _settle_failed(self, batch: Sequence[_Result], error: Exception) -> None:
        """One task's records may be to blame: alone, each gets its own verdict."""
        if len(batch) == 1 or isinstance(error, Unavailable | Fatal):  # nobody's records are
            for each in batch:
                each.tell(each.task, error)
        else:
            for each in batch:
                self._settle([each])
