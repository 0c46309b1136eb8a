"""Permits for nodes to ask hosts: the limits stay where the harvest is.

Promise: a permit is one turn of `Limits`, good for a moment; its place is the node's until it is
given back, or the node is gone. What a host asks for, all nodes are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from ..errors import HarvestError, StopHarvest
from ..network.limits import Limits, Turns
from .messages import Answered, Ask, Back, Message, Pause, Permit, Refusal, Rested, Resting
from .wire import table_of_error

GOOD_S = 0.1

Reply = Callable[[Message], None]


class Grants:
    def __init__(self, limits: Limits, places: int, tell_all: Reply) -> None:
        """`places` is how many can ask at once: each waits in a thread of its own."""
        self._limits = limits
        self._waiting = ThreadPoolExecutor(places, "turns")
        self._lock = Lock()
        self._held: dict[Hashable, dict[int, tuple[Turns, float]]] = {}
        limits.rests.on_begin = lambda *rest: tell_all(Resting(*rest))

    def come(self, node: Hashable, reply: Reply) -> None:
        """A new node, which learns who rests now."""
        with self._lock:
            self._held[node] = {}
        for host, seconds, reason in self._limits.rests.now():
            reply(Resting(host, seconds, reason))

    def gone(self, node: Hashable) -> None:
        with self._lock:
            held = self._held.pop(node, {})
        for turns, begun in held.values():
            turns.give_back(begun, 0)

    def heard(self, node: Hashable, message: Ask | Back | Pause | Answered, reply: Reply) -> None:
        match message:
            case Ask():
                with suppress(RuntimeError):  # no more threads now: those that are there do it
                    self._waiting.submit(self._grant, node, message, reply)
            case Back(number, size):
                with self._lock:
                    held = self._held.get(node, {}).pop(number, None)
                if held is not None:
                    held[0].give_back(held[1], max(0, size))
            case Pause(number, host, reason, seconds):
                reply(Rested(number, self._limits.rests.begin(host, reason, seconds)))
            case Answered(host):
                self._limits.rests.end(host)

    def close(self) -> None:
        self._waiting.shutdown(wait=False, cancel_futures=True)

    def _grant(self, node: Hashable, ask: Ask, reply: Reply) -> None:
        """In a thread of its own: a turn may be long in coming."""
        try:
            turns = self._limits.take_turn(ask.host)
        except HarvestError as error:
            reply(Refusal(ask.number, table_of_error(error)))
            return
        except Exception as error:  # a bug here would leave the node waiting
            reply(Refusal(ask.number, table_of_error(StopHarvest(f"a bug in Sheaf: {error!r}"))))
            return
        now = time.monotonic()
        if turns is not None and not self._hold(node, ask.number, turns, now):
            turns.give_back(now, 0)
            return
        reply(Permit(ask.number, now + GOOD_S))

    def _hold(self, node: Hashable, number: int, turns: Turns, now: float) -> bool:
        """False if the node is gone meanwhile."""
        with self._lock:
            if node not in self._held:
                return False
            self._held[node][number] = turns, now
            return True
