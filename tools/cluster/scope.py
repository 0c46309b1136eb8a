"""Whose trouble is it, when a node brings an error: its own, or that of a source that is down?

Promise: what one node lacks holds that node alone. A stage rests when a second node agrees, or when
there is no other; and so it is with a task that comes home wrong: the first time that spends no
attempt of it.
"""

from __future__ import annotations

import time
from threading import Lock

from ..engine.stage import Task
from ..errors import ComeBack, Fatal, Interrupted, NoRoom, Unavailable
from .cargo import NotRight
from .messages import Hold
from .roster import Roster

AGREE_S = 120.0  # so long a complaint counts
HELD_S = 30.0
AGAIN_S = 10.0  # until what came home wrong is tried again
MOST_COMPLAINTS = 10_000
HELD_FOR_GOOD_S = 600.0  # what somebody has to mend there


class Scope:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._complaints: dict[str, dict[str, float]] = {}  # by stage or URI, and node: when
        self._lock = Lock()

    def judged(self, node: str, task: Task, error: Exception) -> tuple[Exception, Hold | None]:
        """What the error means for the harvest, and what the node is told."""
        stage, reason = task.stage.name, f"node {node}: {error}"
        if isinstance(error, NotRight) and not self._is_agreed(node, stage, task.uri):
            return ComeBack(reason, AGAIN_S), None
        if isinstance(error, Fatal):
            held_s = getattr(error, "delay", None) or HELD_FOR_GOOD_S
            return Interrupted(reason), Hold(stage, held_s, str(error))
        if isinstance(error, NoRoom):
            return Interrupted(reason), Hold(stage, HELD_S, str(error))
        if not isinstance(error, Unavailable) or self._is_agreed(node, stage, stage):
            return error, None
        return Interrupted(reason), Hold(stage, error.delay or HELD_S, str(error))

    def answered(self, stage: str) -> None:
        """Somebody gets answers."""
        if self._complaints.get(stage):
            with self._lock:
                self._complaints.pop(stage, None)

    def _is_agreed(self, node: str, stage: str, of: str) -> bool:
        """Does another one that can do this stage complain of the same, or is there no other?"""
        now = time.monotonic()
        with self._lock:
            complaints = self._complaints.pop(of, {})
            self._complaints[of] = complaints
            while len(self._complaints) > MOST_COMPLAINTS:
                del self._complaints[next(iter(self._complaints))]
            complaints[node] = now
            others = [name for name, when in complaints.items() if now - when < AGREE_S]
        able = {each.name for each in self._roster.awake() if stage in each.agreed}
        return len(others) > 1 or able <= {node}
