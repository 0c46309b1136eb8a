"""What was handed out to nodes, and which verdicts were told.

Promise: each task is in here from when it is given until its verdict is known; what is brought
twice gets the same verdict twice. Limit: `NodeExecutor` has the lock.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..engine.executor import Verdict
from ..engine.stage import Task

MOST_VERDICTS = 20_000


@dataclass(slots=True)
class Given:
    task: Task
    at: str  # the only node that can do it; empty: any
    sent: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)  # in some node's hand, or sent
    came_from: str = ""  # who has brought its result, which is being stored


class HandedOut:
    def __init__(self) -> None:
        self._given: dict[int, Given] = {}
        self._verdicts: OrderedDict[int, tuple[str, Verdict]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._given)

    def add(self, task: Task, at: str = "", came_from: str = "") -> Given:
        given = self._given[task.token] = Given(task, at, came_from=came_from)
        return given

    def get(self, token: int) -> Given | None:
        return self._given.get(token)

    def end(self, token: int) -> Given | None:
        return self._given.pop(token, None)

    def remember(self, token: int, node: str, verdict: Verdict) -> None:
        """By the token that the node has used."""
        self._verdicts[token] = node, verdict
        while len(self._verdicts) > MOST_VERDICTS:
            self._verdicts.popitem(last=False)

    def verdict(self, token: int, node: str) -> Verdict | None:
        """What was told before; to anybody else than who brought it, that it came too late."""
        known = self._verdicts.get(token)
        if known is None:
            return None
        return known[1] if known[0] == node else "stale"

    def of(self, stage: str) -> list[Given]:
        return [each for each in self._given.values() if each.task.stage.name == stage]

    def unbegun(self, stage: str, in_hand: Collection[int]) -> list[Given]:
        """Those that no node says it has, and whose result has not come."""
        return [
            each for each in self.of(stage) if not each.came_from and each.task.token not in in_hand
        ]

    def see(self, in_hand: Iterable[tuple[int, str]]) -> None:
        """Nodes say that they have these."""
        now = time.monotonic()
        for token, node in in_hand:
            if (given := self._given.get(token)) is not None:
                given.seen = now
                if not given.task.holder:
                    given.task.holder, given.task.begun = node, now

    def at_work(self) -> dict[str, int]:
        """How many each node has in hand."""
        numbers: dict[str, int] = {}
        for each in list(self._given.values()):
            if holder := each.task.holder:
                numbers[holder] = numbers.get(holder, 0) + 1
        return numbers

    def unseen_for(self, seconds: float) -> list[Given]:
        before = time.monotonic() - seconds
        return [each for each in self._given.values() if not each.came_from and each.seen < before]
