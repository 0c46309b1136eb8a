"""What was handed out to nodes, and which verdicts were told.

Promise: each task is in here from when it is given until its verdict is known; what is brought
twice gets the same verdict twice. Any thread may use it.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from threading import Lock

from ..engine.executor import Verdict
from ..engine.stage import Task
from .wire import Malformed

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
        self._lock = Lock()  # never held while anybody else is called
        self._given: dict[int, Given] = {}
        self._verdicts: OrderedDict[int, tuple[str, Verdict]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._given)

    def add(self, task: Task, at: str = "", came_from: str = "") -> Given:
        with self._lock:
            given = self._given[task.token] = Given(task, at, came_from=came_from)
        return given

    def claim(self, token: int, node: str, stage: str, uri: str) -> tuple[Given | None, bool]:
        """The task of this token, whose result this node brings; and whether it is the first.
        Malformed if the token is that of another task."""
        with self._lock:
            given = self._given.get(token)
            if given is not None and (given.task.stage.name, given.task.uri) != (stage, uri):
                raise Malformed("a result with the token of another task")
            is_first = given is not None and not given.came_from
            if given is not None and is_first:
                given.came_from = node
            return given, is_first

    def is_open(self, token: int) -> bool:
        """Does anybody wait for what becomes of it?"""
        given = self._given.get(token)
        return given is not None and not given.came_from

    def end(self, token: int) -> Given | None:
        with self._lock:
            return self._given.pop(token, None)

    def remember(self, token: int, node: str, verdict: Verdict) -> None:
        """By the token that the node has used."""
        with self._lock:
            self._verdicts[token] = node, verdict
            while len(self._verdicts) > MOST_VERDICTS:
                self._verdicts.popitem(last=False)

    def verdict(self, token: int, node: str) -> Verdict | None:
        """What was told before; to anybody else than who brought it, that it came too late."""
        known = self._verdicts.get(token)
        if known is None:
            return None
        return known[1] if known[0] == node else "stale"

    def forget_verdicts(self, node: str) -> None:
        """What it was told counts no more: its files were given up."""
        with self._lock:
            for token in [token for token, known in self._verdicts.items() if known[0] == node]:
                del self._verdicts[token]

    def take_unbegun(self, stage: str, in_hand: Collection[int]) -> list[Task]:
        """Those that no node says it has, and whose result has not come: they are here no more."""
        with self._lock:
            found = [
                each.task
                for each in self._given.values()
                if each.task.stage.name == stage
                and not each.came_from
                and each.task.token not in in_hand
            ]
            for task in found:
                del self._given[task.token]
        return found

    def see(self, node: str, tokens: Iterable[int]) -> None:
        """A node says that it has these."""
        now = time.monotonic()
        with self._lock:
            for token in tokens:
                if (given := self._given.get(token)) is not None:
                    given.seen = now
                    if not given.task.holder:
                        given.task.holder, given.task.begun = node, now

    def at_work(self) -> dict[str, int]:
        """How many each node has in hand."""
        with self._lock:
            return Counter(each.task.holder for each in self._given.values() if each.task.holder)

    def unseen_for(self, seconds: float) -> list[Given]:
        before = time.monotonic() - seconds
        with self._lock:
            given = list(self._given.values())
        return [each for each in given if not each.came_from and each.seen < before]
