"""Hears what nodes say and sees to it, one after the other; turns of hosts are granted beside that.

Promise: what is no message, or not for us, is dropped and counts against whoever said it; one that
goes on with it is sent away.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from socket import gethostname
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from ..base.text import plain
from ..errors import HarvestError, Unavailable, UsageError
from .abroad import Abroad
from .bus import Bus, packed, unpacked
from .grants import Grants
from .lines import Lines
from .messages import (
    Again,
    Answered,
    Ask,
    Back,
    Found,
    Goodbye,
    Hold,
    Introduction,
    Message,
    Noted,
    Offer,
    Pause,
    Pulse,
    Question,
    Refused,
    Result,
    Said,
    Shipped,
    Table,
    Unknown,
)
from .names import COORDINATOR
from .post import IS_OPEN
from .reception import Reception
from .roster import Roster
from .subjects import SAY, TURN, WHO, from_node, is_inbox_of, speaker, to_node
from .wire import Malformed, decoded, encoded

if TYPE_CHECKING:
    from nats.aio.msg import Msg

logger = logging.getLogger(__name__)

MOST_FAULTS = 100
WHO_S = 5.0
DEADLINE_S = 60.0  # of a request that a silent node may have under way
LONGEST_LINE = 2000
NO_LINE = "all its requests fail while those of others are answered: its names or its connection"


class Office(Protocol):
    """Whom the desk works for."""

    def brought(self, node: str, message: Result) -> str | None: ...
    def tell(self, node: str, message: Message) -> None: ...
    def changed(self) -> None: ...
    def heard_of(self, node: str) -> None: ...
    def welcome(self, node: str) -> None: ...
    def shipped(self, node: str, owners: Sequence[str]) -> None: ...
    def is_open(self, token: int) -> bool: ...


class Desk:
    def __init__(
        self, bus: Bus, abroad: Abroad, roster: Roster, grants: Grants | None, office: Office
    ) -> None:
        self._bus = bus
        self._abroad = abroad
        self._roster = roster
        self._grants = grants
        self._office = office
        level = logging.getLogger(__name__.partition(".")[0]).getEffectiveLevel()
        self._reception = Reception(roster, abroad, level)
        self._inbox: SimpleQueue[tuple[str, bytes] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="desk", daemon=True)
        self._lines = Lines()
        self._silent: set[str] = set()
        self._given_back: list[tuple[float, Callable[[], None]]] = []

    def open(self) -> None:
        """UsageError if there is a coordinator already."""
        self._bus.start({})
        self._require_alone()
        self._bus.hear(WHO, self._who)
        self._bus.hear(from_node("*", SAY), self._said)
        self._bus.hear(from_node("*", TURN), self._turn)
        self._thread.start()

    def _require_alone(self) -> None:
        """Two would take each other's tasks out of the queue."""
        try:
            other = self._bus.ask(WHO, WHO_S)
        except Unavailable:
            other = b"it does not answer now"
        if other is not None:
            self._bus.close()
            raise UsageError(
                "another harvest works with this cluster "
                f"({plain(other[:200].decode(errors='replace'))}): stop it, or give this one a "
                "cluster of its own (cluster.folder, python main.py cluster init)"
            )

    def close(self) -> None:
        self._inbox.put(None)
        if self._thread.ident is not None:
            self._thread.join(5.0)

    def lose_silent(self) -> bool:
        """Turns of those who fall silent are free again when they can ask nobody any more. Has
        anybody fallen silent, or come back?"""
        now = time.monotonic()
        silent = set(self._roster.silent())
        for name in silent - self._silent:
            logger.warning("node %s is silent", name)
            if self._grants is not None:
                self._given_back.append((now + DEADLINE_S, self._grants.taken_from(name)))
        for each in [each for each in self._given_back if each[0] <= now]:
            self._given_back.remove(each)
            each[1]()
        is_changed, self._silent = silent != self._silent, silent
        return is_changed

    # --- the bus's thread: nothing here waits ----------------------------------------------

    def _who(self, message: Msg) -> None:
        """Only another coordinator may ask; a node can have tasks delivered here."""
        if message.subject == WHO and is_inbox_of(COORDINATOR, message.reply):
            name = f"{self._abroad.job} on {gethostname()}, process {os.getpid()}"
            self._bus.say(message.reply, name.encode())

    def _said(self, message: Msg) -> None:
        if node := speaker(message.subject):
            self._inbox.put((node, message.data))

    def _turn(self, message: Msg) -> None:
        node = speaker(message.subject)
        if not node or self._roster.is_sent_away(node):
            return
        try:
            asked = decoded(unpacked(message.data))
        except Malformed as error:
            self._blame(node, str(error))
            return
        if self._grants is not None and isinstance(asked, Ask | Again | Back | Pause | Answered):
            self._grants.heard(node, asked, lambda reply: self._reply(node, reply))
        else:
            self._inbox.put((node, message.data))

    def _reply(self, node: str, message: Message) -> None:
        self._bus.say(to_node(node), packed(encoded(message)))

    # --- its own thread --------------------------------------------------------------------

    def _work(self) -> None:
        while (item := self._inbox.get()) is not None:
            node, content = item
            try:
                self._heard(node, decoded(unpacked(content)))
            except Malformed as error:
                self._blame(node, str(error))
            except HarvestError as error:
                logger.warning("node %s: %s", node, error)
            except Exception:  # a bug here would leave everybody waiting
                logger.exception("node %s", node)

    def _heard(self, node: str, message: Message) -> None:
        if self._roster.is_sent_away(node) and not isinstance(message, Introduction):
            return
        match message:
            case Result():
                self._count(message.traffic)
                if (wrong := self._office.brought(node, message)) is not None:
                    raise Malformed(wrong)
            case Pulse():
                self._pulse(node, message)
            case Question(number, what, arguments):
                self._office.tell(node, Found(number, self._found(what, arguments)))
            case Said(level, name, text):
                text = " ".join(text.split())[:LONGEST_LINE]
                logging.getLogger(_logger_name(name)).log(_level(level), "%s: %s", node, text)
            case Introduction():
                self._office.tell(node, self._reception.join(node, message))
            case Offer():
                self._offer(node, message)
            case Shipped(number, owners):
                self._office.shipped(node, [each for each in owners if isinstance(each, str)])
                self._office.tell(node, Noted(number))
            case Goodbye():
                self._leave(node)
            case _:
                raise Malformed(f"{type(message).__name__} is not for us")

    def _pulse(self, node: str, pulse: Pulse) -> None:
        self._count(pulse.traffic)
        is_changed = self._roster.pulse(node, pulse)
        if is_changed is None:
            self._office.tell(node, Unknown(pulse.session))
            return
        self._office.heard_of(node)
        self._look_at_line(node)
        if is_changed:
            self._come(node)
            self._office.changed()

    def _look_at_line(self, node: str) -> None:
        seen = self._roster[node]
        if seen is None:
            return
        failed = seen.number("failed_names") + seen.number("failed_connections")
        pause = self._lines.heard(node, seen.number("requests"), failed)
        if pause is not None:
            logger.warning("node %s is held for %.0f s: %s", node, pause, NO_LINE)
            for stage in seen.agreed:
                self._office.tell(node, Hold(stage, pause, NO_LINE))

    def _offer(self, node: str, offer: Offer) -> None:
        self._office.welcome(node)
        agreed = self._reception.offer(node, offer)
        self._office.tell(node, Unknown(offer.session) if agreed is None else agreed)
        self._come(node)
        self._office.changed()

    def _come(self, node: str) -> None:
        self._silent.discard(node)
        if self._grants is not None:
            self._grants.come(node, lambda message: self._reply(node, message))

    def _leave(self, node: str) -> None:
        seen = self._roster[node]
        if seen is not None:
            self._roster.leave(node, seen.join.session)
            logger.warning("node %s has left", node)
            self._office.changed()

    def _found(self, what: str, arguments: list[Any]) -> Any:
        """None for a question that nobody knows or that cannot be answered."""
        try:
            if what == IS_OPEN:
                return self._office.is_open(*arguments)
            return self._abroad.questions[what](*arguments)
        except (KeyError, ValueError, TypeError):
            return None

    def _count(self, traffic: Table | None) -> None:
        if traffic is not None and self._abroad.traffic is not None:
            try:
                self._abroad.traffic.merge(traffic)
            except ValueError as error:
                raise Malformed(str(error)) from None

    def _blame(self, node: str, why: str) -> None:
        seen = self._roster[node]
        logger.debug("node %s says what cannot be right: %s", node, why)
        if seen is None:
            return
        seen.faults += 1
        if seen.faults == MOST_FAULTS:
            reason = f"it has said {MOST_FAULTS} things that cannot be right, the last: {why[:300]}"
            logger.error("node %s is sent away: %s", node, reason)
            self._roster.send_away(node, reason)
            self._office.tell(node, Refused(seen.join.session, reason))
            self._office.changed()


def _logger_name(name: str) -> str:
    """Nobody names a logger that is not ours."""
    package = __name__.partition(".")[0]
    is_ours = name.split(".")[0] in ("tools", "sheaf") and len(name) < 100
    return f"{package}.{name.partition('.')[2]}" if is_ours else __name__


def _level(level: int) -> int:
    return level if level in (10, 20, 30, 40) else logging.INFO
