"""The pauses of a stage whose source answers nobody.

Promise: they grow until somebody gets an answer; tasks that were under way together count as one
reason. Limit: whoever begins one holds the lock of the pools.
"""

from __future__ import annotations

import logging
import random
import time

logger = logging.getLogger(__name__)

FIRST_S = 1.0
LONGEST_S = 300.0


class Rests:
    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._number = 0  # in a row since somebody last got an answer
        self._until = 0.0
        self._outage: tuple[float, str] | None = None  # since when, and why

    def __bool__(self) -> bool:
        """Has nobody got an answer since the last one? Then one task goes ahead."""
        return self._number > 0

    @property
    def seconds_left(self) -> float:
        """Of the pause that is made now; 0 if none is."""
        return max(0.0, self._until - time.monotonic())

    @property
    def outage(self) -> tuple[float, str]:
        """For how long nobody has got an answer, and why; 0 if somebody does."""
        since, reason = self._outage or (time.monotonic(), "")
        return time.monotonic() - since if reason else 0.0, reason

    def begin(self, reason: str, asked: float | None) -> None:
        if self.seconds_left:
            return
        self._number += 1
        self._outage = self._outage or (time.monotonic(), reason)
        pause = min(FIRST_S * 2 ** (self._number - 1), LONGEST_S)
        pause = max(pause * random.uniform(0.8, 1.2), asked or 0.0)
        self._until = time.monotonic() + pause
        logger.warning("Monitor %s waits %.2f s: %s", self._stage, pause, reason)

    def answered(self) -> None:
        self._number, self._outage = 0, None
