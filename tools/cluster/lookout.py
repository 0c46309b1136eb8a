"""Looks, second by second, for what nobody else sees: nodes that fall silent, tasks that the bus
has lost, a stop that nodes must hear of.

Promise: what is handed out is in the queue, in a node's hand, or sent again within half a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Protocol

from ..engine.pools import Pools
from ..errors import Unavailable
from .bus import Bus
from .handed_out import Given, HandedOut
from .task_queue import TaskQueue

logger = logging.getLogger(__name__)

LOOK_S = 1.0
LOST_S = 30.0  # so long nobody has had it, and it is in no queue
LOST_WITH_QUEUE_S = 6.0  # if the queue itself was lost


class Looking(Protocol):
    """Whom it works for."""

    def look(self) -> None:
        """Once a second."""

    def send(self, given: Given) -> None: ...


class Lookout(Thread):
    def __init__(self, bus: Bus, queue: TaskQueue, out: HandedOut, office: Looking) -> None:
        super().__init__(name="nodes", daemon=True)
        self._bus, self._queue, self._out, self._office = bus, queue, out, office
        self._lost_s = LOST_S
        self._closing = Event()

    def begin(self, pools: Pools) -> None:
        self._pools = pools
        self.start()

    def connection_is_back(self) -> None:
        """The server may be a new one: its queue was in its memory."""
        self._lost_s = 0.0

    def close(self) -> None:
        self._closing.set()
        if self.ident is not None:
            self.join(2 * LOOK_S)

    def run(self) -> None:
        while not self._closing.wait(LOOK_S):
            self._try(self._office.look)
            self._try(self._look_for_lost)

    def _try(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Unavailable as error:
            logger.warning("%s", error)
        except Exception:  # a bug here would leave everybody waiting
            logger.exception("nodes")

    def _look_for_lost(self) -> None:
        if not self._bus.is_connected:
            return
        if not self._lost_s:
            self._queue.make()
            self._lost_s = LOST_WITH_QUEUE_S
        unseen = self._out.unseen_for(self._lost_s)
        lost = self._without_taken_back(unseen)
        for stage in {each.task.stage.name for each in lost}:
            if self._lost_s < LOST_S or not self._queue.number(stage):
                self._send_again([each for each in lost if each.task.stage.name == stage])
        if self._lost_s < LOST_S and not unseen:
            self._lost_s = LOST_S

    def _send_again(self, lost: Sequence[Given]) -> None:
        for each in lost:
            logger.info("uri=%r is handed out again: nobody has it", each.task.uri)
            self._office.send(each)

    def _without_taken_back(self, given: Sequence[Given]) -> list[Given]:
        """Those that somebody still waits for; nobody does for the others."""
        leased = self._pools.still_leased(each.task for each in given)
        for each in given:
            if each.task.token not in leased:
                self._out.end(each.task.token)
        return [each for each in given if each.task.token in leased]
