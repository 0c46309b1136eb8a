"""Who of many hosts, or other lanes, may be asked when: what a stage with lanes asks of its job.

Limit: called with the lock of the pools held, from any thread: it answers at once, waits for nobody
and does not call the pools. Whoever sets another moment tells `Pools.lane_changed` afterwards.
"""

from __future__ import annotations

from typing import Protocol


class Gate(Protocol):
    def ready_at(self, lane: str) -> float:
        """By `time.monotonic`: before that nothing of this lane is handed out."""

    def places(self, lane: str) -> int:
        """How many of this lane may be at work at once."""

    def begun(self, lane: str) -> None:
        """One of this lane was handed out."""

    def ended(self, lane: str, seconds: float) -> None:
        """It has moved on, failed or gone back; it was at work for so long."""


class Open:
    """The gate of a stage that has lanes only to be fair."""

    def ready_at(self, lane: str) -> float:
        return 0.0

    def places(self, lane: str) -> int:
        return 1 << 30

    def begun(self, lane: str) -> None: ...
    def ended(self, lane: str, seconds: float) -> None: ...
