"""Whether it is a node's own line when its requests fail: names, connections, a proxy.

Promise: a node whose requests all fail while those of others are answered is held, longer each time
until one is answered. Limit: if nobody's are answered, that is not the node's trouble.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..base.backoff import pause_after
from ..base.why import Why
from .messages import Table

MOST_IN_A_ROW = 8
MOST_AFTER_A_HOLD = 2
LATELY_S = 60.0
FIRST_S, LONGEST_S = 30.0, 600.0

NAMES = frozenset({Why.NAME, Why.UNKNOWN_NAME})


class Line:
    """A node's own counts, from its beginning."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def counted(self, traffic: Table | None) -> Table | None:
        """What is on its way to whoever counts for all."""
        if traffic is not None:
            names = sum(traffic["failures"].get(why.value, 0) for why in NAMES)
            failed = sum(traffic["failures"].values()) - names
            self._counts.update(
                requests=traffic["requests"],
                bytes=traffic["bytes"],
                failed_names=names,
                failed_connections=failed,
            )
        return traffic

    def sight(self) -> Table:
        return dict(self._counts)


@dataclass(slots=True)
class Fortune:
    requests: int = 0
    failed: int = 0
    in_a_row: int = 0
    answered_at: float | None = None
    holds: int = 0
    held_until: float = 0.0


class Lines:
    """As the coordinator sees them. Limit: for one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._fortunes: dict[str, Fortune] = {}

    def heard(self, node: str, requests: int, failed: int) -> float | None:
        """Its counts by now; for how many seconds it shall be held, if it shall."""
        now = self._clock()
        its = self._fortunes.setdefault(node, Fortune())
        if requests < its.requests or failed < its.failed:  # it was started again
            its.requests = its.failed = its.in_a_row = 0
        new, bad = requests - its.requests, failed - its.failed
        its.requests, its.failed = requests, failed
        if new > bad:
            its.in_a_row, its.holds, its.answered_at = 0, 0, now
            return None
        its.in_a_row += bad
        enough = MOST_AFTER_A_HOLD if its.holds else MOST_IN_A_ROW
        if its.in_a_row < enough or now < its.held_until or not self._are_others_answered(node):
            return None
        its.holds, its.in_a_row = its.holds + 1, 0
        pause = pause_after(its.holds, FIRST_S, LONGEST_S)
        its.held_until = now + pause
        return pause

    def _are_others_answered(self, node: str) -> bool:
        since = self._clock() - LATELY_S
        others = (its for name, its in self._fortunes.items() if name != node)
        return any(its.answered_at is not None and its.answered_at > since for its in others)
