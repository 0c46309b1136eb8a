"""Permits for nodes to ask hosts: the limits stay where the harvest is.

Promise: a permit is one turn of `Limits`, good for a moment; its place is the node's until it is
given back, or the node is gone. What a host asks for, all nodes are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Protocol

from ..errors import HarvestError, StopHarvest
from ..network.budgets import DAY_S
from ..network.rests import Rests, Trouble
from .messages import Again, Answered, Ask, Back, Message, Pause, Permit, Refusal, Rested, Resting
from .wire import table_of_error

Reply = Callable[[Message], None]
Permitted = Callable[[], float | None]
"""Waits for a turn; until when it is good. None: the node is gone."""


class Turn(Protocol):
    """Of a host, whoever has granted it."""

    until: float

    def renew(self, is_used: bool = False) -> None: ...
    def give_back(self, begun: float, size: int) -> None: ...


class Granting(Protocol):
    """Limits that are kept here, or by a coordinator elsewhere."""

    @property
    def rests(self) -> Rests: ...
    def take_turn(self, host: str) -> Turn | None: ...


class Grants:
    def __init__(self, limits: Granting, places: int, tell_all: Reply) -> None:
        """`places` is how many can ask at once: each waits in a thread of its own."""
        self._limits = limits
        self._waiting = ThreadPoolExecutor(places, "turns")
        self._lock = Lock()
        self._held: dict[Hashable, dict[int, tuple[Turn, float]]] = {}
        limits.rests.on_begin = lambda trouble: tell_all(_told(trouble))
        limits.rests.on_end = lambda host: tell_all(Answered(host))

    def come(self, node: Hashable, reply: Reply) -> None:
        """A new node, which learns who is not well."""
        with self._lock:
            self._held.setdefault(node, {})
        for trouble in self._limits.rests.now():
            reply(_told(trouble))

    def gone(self, node: Hashable) -> None:
        self.taken_from(node)()

    def taken_from(self, node: Hashable) -> Callable[[], None]:
        """It gets no more; to be called when it certainly asks nobody any more."""
        with self._lock:
            held = self._held.pop(node, {})

        def give_back() -> None:
            for turn, begun in held.values():
                turn.give_back(begun, 0)

        return give_back

    def heard(
        self, node: Hashable, message: Ask | Again | Back | Pause | Answered, reply: Reply
    ) -> None:
        match message:
            case Ask(number):
                self._wait(number, reply, partial(self._granted, node, message))
            case Again(number):
                self._wait(number, reply, partial(self._renewed, node, message))
            case Back(number, size):
                with self._lock:
                    held = self._held.get(node, {}).pop(number, None)
                if held is not None:
                    held[0].give_back(held[1], max(0, size))
            case Pause(number, host, reason, seconds, first_s):
                pause = self._limits.rests.begin(host, reason, seconds, first_s)
                reply(Rested(number, pause))
            case Answered(host):
                self._limits.rests.end(host)

    def close(self) -> None:
        self._waiting.shutdown(wait=False, cancel_futures=True)

    def _wait(self, number: int, reply: Reply, permitted: Permitted) -> None:
        with suppress(RuntimeError):  # no more threads now: those that are there do it
            self._waiting.submit(self._answer, number, reply, permitted, time.monotonic())

    # --- threads of their own: a turn may be long in coming --------------------------------

    def _answer(self, number: int, reply: Reply, permitted: Permitted, came: float) -> None:
        try:
            if (until := permitted()) is not None:
                now = time.monotonic()
                reply(Permit(number, now - came, until - now))
        except HarvestError as error:
            reply(Refusal(number, table_of_error(error)))
        except Exception as error:  # a bug here would leave the node waiting
            reply(Refusal(number, table_of_error(StopHarvest(f"a bug in Sheaf: {error!r}"))))

    def _granted(self, node: Hashable, ask: Ask) -> float | None:
        turn, now = self._limits.take_turn(ask.host), time.monotonic()
        if turn is None:
            return now + DAY_S
        with self._lock:
            if node in self._held:
                self._held[node][ask.number] = turn, now
                return turn.until
        turn.give_back(now, 0)
        return None

    def _renewed(self, node: Hashable, again: Again) -> float | None:
        """Its place is kept."""
        with self._lock:
            held = self._held.get(node, {}).get(again.permit)
        if held is None:
            return None
        turn, _ = held
        turn.renew(again.is_used)
        return turn.until


def _told(trouble: Trouble) -> Resting:
    """For those whose clock is another."""
    ill_s = max(0.0, time.monotonic() - trouble.since)
    return Resting(trouble.host, trouble.seconds, trouble.reason, ill_s)
