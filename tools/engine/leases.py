"""Which tasks are handed out now, and who holds them.

Promise: a task is here from the moment it is leased until it moves on or goes back; its token is
that of no other task, of this process or any before it. Limit: `Pools` has the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count

from .stage import Stage, Task
from .window import Row

COUNTER_BITS = 40  # of a token; above them is the number of the run


class Leases:
    """`lonely` is at work with nobody beside it."""

    def __init__(self, stages: Iterable[Stage], next_run: Callable[[], int]) -> None:
        self.lonely: Task | None = None
        self._active: dict[str, dict[str, Task]] = {stage.name: {} for stage in stages}
        self._by_token: dict[int, Task] = {}
        self._next_run = next_run
        self._tokens: Iterator[int] | None = None

    def __len__(self) -> int:
        return len(self._by_token)

    def make(self, stage: Stage, rows: Sequence[Row]) -> list[Task]:
        """Tasks with tokens; nobody knows of them yet."""
        return [self._task(stage, row) for row in rows]

    def begin(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._active[task.stage.name][task.uri] = self._by_token[task.token] = task

    def end(self, task: Task) -> None:
        del self._active[task.stage.name][task.uri]
        del self._by_token[task.token]
        if task is self.lonely:
            self.lonely = None

    def holds(self, task: Task) -> bool:
        """False for a task that was taken back meanwhile: whatever it brings comes too late."""
        return task.token in self._by_token

    def sink(self, rows: Iterable[Row], again: Mapping[int, str]) -> set[int]:
        """These rows have another depth, and are to be seen again by these stages; the ids of
        those that are handed out."""
        found = [(task, row) for row in rows if (task := self.task_of(row[2]))]
        for task, row in found:
            task.depth, task.rank = row[3], task.stage.rank(row[3], task.priority)
            task.again = again.get(task.id)
        return {task.id for task, _ in found}

    def with_token(self, token: int) -> Task | None:
        return self._by_token.get(token)

    def number(self, stage: Stage) -> int:
        return len(self._active[stage.name])

    def of(self, stage: Stage) -> list[Task]:
        return list(self._active[stage.name].values())

    def task_of(self, uri: str) -> Task | None:
        found = (tasks[uri] for tasks in self._active.values() if uri in tasks)
        return next(found, None)

    def _task(self, stage: Stage, row: Row) -> Task:
        key, id_, uri, depth, attempts, priority, note, lane = row
        rank = None if stage.order == "fifo" else key
        task = Task(id_, uri, stage, rank, depth, attempts, token=self._next_token())
        task.priority, task.note, task.lane = priority, note, lane
        return task

    def _next_token(self) -> int:
        if self._tokens is None:  # with the first task: who hands out nothing writes nothing
            self._tokens = count((self._next_run() << COUNTER_BITS) + 1)
        return next(self._tokens)
