"""What goes on beside the work of a node: its disk is watched, its files are shipped by the clock.

Promise: what is shipped is told to the coordinator before it is forgotten here; a disk that is
nearly full holds this node and no other.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from shutil import disk_usage
from threading import Event
from typing import TYPE_CHECKING

from ..assist.schedule import Clock, Outcome
from ..assist.watchdogs import Backlog, Reserve
from ..cluster.engagement import Engagement
from ..cluster.join_file import Join
from ..cluster.messages import Table
from ..cluster.node import Node
from ..cluster.staff import Hire
from ..engine.stage import Stage
from ..settings import Settings

if TYPE_CHECKING:  # it takes paramiko with it
    from ..transport import Transport

logger = logging.getLogger(__name__)

TRANSPORT = "transport"
LOOK_EVERY_S = 1.0
PATIENCE_S = 5.0


class Held:
    """A stage of the node, as the watchdogs hold it."""

    def __init__(self, engagement: Engagement, stage: Stage) -> None:
        self._engagement = engagement
        self.stage = stage

    def hold(self, holder: str, reason: str | None) -> None:
        self._engagement.hold(self.stage.name, holder, reason)


class NodeLife:
    """`is_once`: it ends with the harvest."""

    def __init__(self, key: Join, settings: Settings, hire: Hire, is_once: bool) -> None:
        self._settings = settings
        self._is_once = is_once
        self.node = Node(key, hire, settings.state, list(settings.extend.keys), self)
        self._clock: Clock | None = None
        self._transport: Transport | None = None
        self._watches: list[Callable[[], None]] = []
        self._next_look = 0.0
        self._is_finishing = self._is_last = self._is_finished = False

    def run(self, leave: Event, grace_s: float) -> None:
        self._leave = leave
        self.node.run(leave, grace_s)

    # --- called by the node ----------------------------------------------------------------

    def tick(self, work: Engagement) -> None:
        if self._clock is None:
            self._begin(work)
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_EVERY_S
            self._clock.tick()
            for watch in self._watches:
                watch()
            if self._is_finishing and not self._is_last and not work.tokens():
                self._clock.run_soon(TRANSPORT)

    def finish(self) -> None:
        """What is here goes, by a shipping that begins from now on; a node without a way there has
        finished."""
        if not self._is_finishing:
            self._is_finishing = self._transport is not None
            self._is_finished = not self._is_finishing

    def ended(self, is_over: bool) -> None:
        clock, self._clock, self._transport, self._watches = self._clock, None, None, []
        self._is_finishing = self._is_last = self._is_finished = False
        if clock is not None:
            clock.close(PATIENCE_S)
        if is_over and self._is_once:
            self._leave.set()

    def sight(self) -> Table:
        try:
            free = disk_usage(self._settings.media).free
        except OSError:
            free = None
        waiting = 0 if self._transport is None else self._transport.backlog
        return {"free_bytes": free, "waiting_bytes": waiting, "is_finished": self._is_finished}

    # --- what it does ----------------------------------------------------------------------

    def _begin(self, work: Engagement) -> None:
        clock = self._clock = Clock(self._report)
        held = [Held(work, stage) for stage in work.staff.stages.values()]
        self._watches = [Reserve(held, self._settings.reserve_bytes, _say)]
        if work.staff.transport is not None:
            shipments = self.node.shipments
            transport = work.staff.transport(shipments.at_quiet_point, shipments.arrived)
            transport.complete()
            self._transport = transport
            times = self._settings.transport.times
            clock.add(TRANSPORT, times, lambda: self._ship(transport), "transport.every_hours")
            limit = self._settings.transport.outbox_mb * 1e6
            ways = _say, lambda: clock.run_soon(TRANSPORT)
            self._watches.append(Backlog(held, lambda: transport.backlog, limit, *ways))
        clock.start()
        if self._transport is not None and self._transport.is_batch_waiting():
            clock.run_soon(TRANSPORT)

    def _ship(self, transport: Transport) -> str:
        """One that begins after nothing more comes is the last."""
        self._is_last = self._is_finishing
        return str(transport.ship())

    def _report(self, outcome: Outcome) -> None:
        """In the thread of that work."""
        if outcome.failure is not None:
            logger.warning("%s failed: %s", outcome.name, outcome.failure)
        else:
            logger.info("%s: %s", outcome.name, outcome.done)
        if outcome.name == TRANSPORT and self._is_last:
            self._is_finished = True


def _say(title: str, text: str) -> None:
    """Who holds this has logged it; the coordinator's notices tell of it."""
