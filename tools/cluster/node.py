"""One machine that works for a harvest elsewhere: it dials out, says what it can do, and works.

Promise: it needs nothing but its join file and a folder; it waits for a coordinator that is away,
however long, and keeps what it has found until that is answered. When it is told to end, it gives
back what nobody has begun, ends what runs, and tells so.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, get_ident
from typing import TYPE_CHECKING

from ..base.version import VERSION
from ..errors import Unavailable, UsageError
from .bus import LARGEST_UNPACKED, Bus, packed, unpacked
from .engagement import Engagement
from .hands import Hands
from .home import home_of
from .join_file import Join
from .link import Broken
from .messages import (
    FORMAT,
    Agreed,
    Answered,
    Back,
    Drain,
    Finish,
    Found,
    Goodbye,
    Hold,
    Introduction,
    Judged,
    Message,
    Noted,
    Offer,
    Permit,
    Pulse,
    Refusal,
    Refused,
    Rested,
    Resting,
    Stop,
    Table,
    Unknown,
    Wait,
    Welcome,
    Work,
)
from .pending import Pending
from .post import IS_OPEN, Post
from .program import program_digest
from .shipments import Shipments
from .staff import Beside, Hire
from .subjects import SAY, TO_ALL, TURN, from_node, to_node
from .wire import Malformed, decoded, encoded

if TYPE_CHECKING:
    from nats.aio.msg import Msg

logger = logging.getLogger(__name__)

LOOK_S = 0.1
PULSE_S = 2.0
JOIN_S = 3.0  # how often a coordinator is looked for
PENDING = "pending.db"

OPEN_S = 3.0  # nothing else is heard meanwhile

Item = Message | tuple[Work, str, int] | Callable[[], None]


class Node:
    """`hire` makes the staff for a harvest; `keys` are those of providers that it has."""

    def __init__(
        self,
        key: Join,
        hire: Hire,
        state: Path,
        keys: Collection[str],
        beside: Beside,
    ) -> None:
        self.name = key.name
        self._hire, self._keys, self._beside = hire, keys, beside
        self._session, self._home = uuid.uuid4().hex, home_of(state)
        self._inbox: SimpleQueue[Item] = SimpleQueue()
        self._bus = Bus(key, lost=self._on_lost, back=self._on_back)
        self._hands = Hands(self.name, self._bus.say)
        self._post = Post(Turns(self._bus, self.name))
        self._pending = Pending(state / PENDING)
        self.engagement: Engagement | None = None
        self._next_join = self._next_pulse = 0.0
        self._leaves_at: float | None = None  # not later
        self.is_draining = False
        self.shipments = Shipments(self._inbox.put, self._say)

    def run(self, leave: Event, grace_s: float) -> None:
        """Until `leave` is set, the node is drained, or it is refused: that is a UsageError."""
        self.shipments.main_thread = get_ident()
        heard = {to_node(self.name): self._told, TO_ALL: self._told}
        self._bus.start({**heard, self._hands.subject: self._pulled}, leave.wait)
        try:
            while not self._is_over(leave, grace_s):
                self._tick()
                try:
                    self._heard(self._inbox.get(timeout=LOOK_S))
                except Empty:
                    continue
                while not self._inbox.empty():
                    self._heard(self._inbox.get())
            self._say(Goodbye(False))
        finally:
            self._end_engagement(is_over=False)
            self._pending.close()
            self._bus.close()

    def _is_over(self, leave: Event, grace_s: float) -> bool:
        work = self.engagement
        if leave.is_set() and self._leaves_at is None:
            logger.warning("leaving: running tasks have %.0f s", grace_s)
            self._leaves_at = time.monotonic() + grace_s
            if work is not None:
                work.begin_to_stop()
        if self._leaves_at is not None:
            return work is None or work.is_idle or time.monotonic() > self._leaves_at
        return self.is_draining and (work is None or work.is_idle)

    # --- the bus's thread: nothing here waits ----------------------------------------------

    def _told(self, message: Msg) -> None:
        try:
            told = decoded(unpacked(message.data))
        except Malformed:
            return  # of another version: it says so when we join
        match told:
            case Permit() | Refusal() | Rested() | Found():
                is_awaited = self._post.heard(told)
                if isinstance(told, Permit) and not is_awaited:  # else its place is never free
                    self._post.tell(Back(told.number, 0))
            case Noted():
                self.shipments.noted(told)
            case _:
                self._inbox.put(told)

    def _pulled(self, message: Msg) -> None:
        if (message.headers or {}).get("Status") is not None:
            self._hands.answered(message.subject)
            return
        self._hands.pulled(message.subject)
        try:
            work = decoded(unpacked(message.data))
        except Malformed:
            return
        if isinstance(work, Work):
            self._inbox.put((work, message.reply, message.metadata.num_delivered or 1))

    def _on_lost(self) -> None:
        """Nobody answers what was asked."""
        self._post.give_up()

    def _on_back(self) -> None:
        self._hands.forget_pulls()
        self._next_pulse = 0.0

    def _say(self, message: Message) -> None:
        content = packed(encoded(message, LARGEST_UNPACKED))
        self._bus.say(from_node(self.name, SAY), content)

    # --- the main thread -------------------------------------------------------------------

    def _tick(self) -> None:
        now, work = time.monotonic(), self.engagement
        if work is None:
            if now >= self._next_join and self._leaves_at is None:
                self._next_join = now + JOIN_S
                self._join()
            return
        if now >= self._next_pulse:
            self._next_pulse = now + PULSE_S
            self._say(self._pulse(work))
        self._hands.still()
        self._beside.tick(work)
        if self._bus.is_connected:
            if not self.is_draining:
                work.pull()
            work.say_again()

    def _join(self) -> None:
        keys = dict.fromkeys(self._keys, True)
        own = FORMAT, VERSION, program_digest(), self._session, self._home, keys, time.time()
        self._say(Introduction(*own))

    def _pulse(self, work: Engagement) -> Pulse:
        places = {} if self.is_draining else work.open_places()
        traffic = work.traffic()
        sight: Table = {**self._beside.sight(), **work.line.sight(), "held": work.held}
        return Pulse(self._session, list(work.tokens()), dict(places), sight, traffic)

    def _heard(self, item: Item) -> None:
        work = self.engagement
        match item:
            case (Work() as task, str() as reply, int() as delivered):
                if work is not None:
                    work.begin(task, reply, delivered)
            case Judged(token, verdict) if work is not None:
                work.judged(token, verdict)
            case Welcome():
                self._welcomed(item)
            case Agreed() if work is not None and item.session == self._session:
                self._agreed(work, item)
            case Wait(session, reason) if session == self._session:
                logger.warning("we wait: %s", reason)
            case Refused(session, reason) if session == self._session:
                raise UsageError(f"the coordinator refuses this node: {reason}")
            case Unknown(session) if session == self._session:
                self._post.give_up()
                self._join()
            case Hold(stage, seconds, reason) if work is not None:
                logger.warning("no more of %s for %.0f s: %s", stage, seconds, reason)
                work.hold_for(stage, seconds, reason)
            case Stop() if work is not None:
                work.begin_to_stop()
            case Finish():
                self._beside.finish()
            case Drain():
                self.is_draining = True
            case Goodbye(is_over) if work is not None:
                self._end_engagement(is_over)
            case Resting() if work is not None and work.staff.rests is not None:
                work.staff.rests.told(item)
            case Answered(host) if work is not None and work.staff.rests is not None:
                work.staff.rests.told_well(host)
            case _ if callable(item):
                item()
            case _:
                pass  # from another life, or for one

    def _agreed(self, work: Engagement, agreed: Agreed) -> None:
        work.places = {stage: n for stage, n in agreed.places.items() if isinstance(n, int)}
        self._next_pulse = 0.0
        for stage, why in agreed.refused.items():
            logger.warning("we may do nothing of %s: %s", stage, why)

    def _welcomed(self, welcome: Welcome) -> None:
        if welcome.session != self._session:
            return
        work = self.engagement
        if work is not None and work.welcome != welcome:
            self._end_engagement(is_over=False)
            work = None
        if work is None:
            stop = Event()
            staff = self._hire(welcome, self._post, stop)
            ways = self._is_open, self._hands, self._pending, self._say
            work = Engagement(welcome, staff, *ways, stop)
            self.engagement = work
            logger.warning("we work for the job %s", welcome.job)
        places = {name: stage.workers for name, stage in work.staff.stages.items()}
        self._say(Offer(self._session, dict(places), dict(work.staff.codes)))

    def _is_open(self, token: int) -> bool:
        """If nobody answers, it is begun: at worst that is in vain."""
        try:
            return self._post.look_up(IS_OPEN, token, seconds=OPEN_S) is not False
        except Unavailable:
            return True

    def _end_engagement(self, is_over: bool) -> None:
        """What is not answered yet stays written down, and is sent to whoever comes next."""
        work, self.engagement = self.engagement, None
        if work is None:
            return
        work.begin_to_stop()
        self._beside.ended(is_over)
        work.close()
        self._next_join = 0.0


class Turns:
    """The way of questions that are answered at once."""

    def __init__(self, bus: Bus, name: str) -> None:
        self._bus = bus
        self._subject = from_node(name, TURN)

    def send(self, message: bytes) -> None:
        if not self._bus.is_connected:
            raise Broken("there is no connection to the cluster's server")
        self._bus.say(self._subject, packed(message))
