"""The places of one stage, dealt out among processes. Limit: `ProcessExecutor` has the lock."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from ..engine.executor import place_of
from ..engine.stage import Stage, Task


class Places:
    """Numbered from 1; each belongs to one process, in turn."""

    def __init__(self, stage: Stage, processes: int) -> None:
        self._stage = stage.name
        self._processes = processes
        self._numbers = range(1, stage.workers + 1)
        self._free = set(self._numbers)
        self.resting: frozenset[int] = frozenset()
        self.unbegun: deque[Task] = deque()

    @property
    def number(self) -> int:
        """Of those that do not rest."""
        return len(self._numbers) - len(self.resting)

    def owner(self, number: int) -> int:
        return (number - 1) % self._processes

    def number_of(self, process: int) -> int:
        return sum(self.owner(number) == process for number in self._numbers)

    def going_of(self, process: int) -> int:
        going = (number for number in self._numbers if number not in self.resting)
        return sum(self.owner(number) == process for number in going)

    def free_of(self, ready: Sequence[object | None]) -> int | None:
        """One of a process that is ready, and of those with the most free ones."""
        free = [
            number
            for number in self._free
            if number not in self.resting and ready[self.owner(number)] is not None
        ]
        counts = [0] * self._processes
        for number in free:
            counts[self.owner(number)] += 1
        return min(free, key=lambda each: (-counts[self.owner(each)], each), default=None)

    def begin(self, number: int) -> Task:
        self._free.remove(number)
        task = self.unbegun.popleft()
        task.holder, task.begun = place_of(self._stage, number), time.monotonic()
        return task

    def free(self, number: int) -> None:
        self._free.add(number)

    def recalled(self) -> list[Task]:
        """What nobody has begun."""
        tasks = list(self.unbegun)
        self.unbegun.clear()
        return tasks
