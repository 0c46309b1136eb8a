"""Whose trouble is it, when a node brings an error: its own, or that of a source that is down?

Promise: what one node lacks holds that node alone. A stage rests when a second node agrees, or when
there is no other.
"""

from __future__ import annotations

import time
from threading import Lock

from ..errors import Fatal, Interrupted, NoRoom, Unavailable
from .messages import Hold
from .roster import Roster

AGREE_S = 120.0  # so long a complaint counts
HELD_S = 30.0
HELD_FOR_GOOD_S = 600.0  # what somebody has to mend there


class Scope:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._complaints: dict[str, dict[str, float]] = {}  # by stage and node, when
        self._lock = Lock()

    def judged(self, node: str, stage: str, error: Exception) -> tuple[Exception, Hold | None]:
        """What the error means for the harvest, and what the node is told."""
        reason = f"node {node}: {error}"
        if isinstance(error, Fatal):
            held_s = getattr(error, "delay", None) or HELD_FOR_GOOD_S
            return Interrupted(reason), Hold(stage, held_s, str(error))
        if isinstance(error, NoRoom):
            return Interrupted(reason), Hold(stage, HELD_S, str(error))
        if not isinstance(error, Unavailable) or self._is_agreed(node, stage):
            return error, None
        return Interrupted(reason), Hold(stage, error.delay or HELD_S, str(error))

    def answered(self, stage: str) -> None:
        """Somebody gets answers."""
        if self._complaints.get(stage):
            with self._lock:
                self._complaints.pop(stage, None)

    def _is_agreed(self, node: str, stage: str) -> bool:
        now = time.monotonic()
        with self._lock:
            complaints = self._complaints.setdefault(stage, {})
            complaints[node] = now
            others = [name for name, when in complaints.items() if now - when < AGREE_S]
        able = {each.name for each in self._roster.awake() if stage in each.agreed}
        return len(others) > 1 or able <= {node}
