"""Notices that the wall clock was set back, by the clock that never jumps.

A clock set forward is no matter: who waits for a moment then waits less.
"""

from __future__ import annotations

import time

SLACK_S = 1.0  # a clock is always being adjusted a little


class SetBack:
    def __init__(self, last_seen: float | None) -> None:
        """`last_seen` is what the wall clock showed last before this process began, if known."""
        self._wall, self._monotonic = max(time.time(), last_seen or 0.0), time.monotonic()

    def seconds(self) -> float:
        """By how much it was set back since this was last asked; 0 if it was not."""
        wall, monotonic = time.time(), time.monotonic()
        back = self._wall + (monotonic - self._monotonic) - wall
        self._wall, self._monotonic = wall, monotonic
        return back if back > SLACK_S else 0.0
