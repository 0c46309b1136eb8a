"""How often, how many at once and how fast a host is asked, and when not at all.

Promise: a host gets no more than its limits allow, over a restart too where a limit is for a day;
a host that rests is not asked. Nobody waits here for longer than a minute for a place, nor for its
bytes or its rate: who would have to is told when to come back, and stopping ends every wait.
"""

from __future__ import annotations

import email.utils
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from queue import Empty, PriorityQueue
from threading import Event, Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..base.text import size
from ..errors import Interrupted, Unavailable, UsageError
from .budgets import DAY_S, Budgets
from .guard import host_named
from .rests import LONGEST_REST_S, Rests

if TYPE_CHECKING:
    from .rates import Rates

logger = logging.getLogger(__name__)

PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
PATIENCE_S = 60.5  # a limit for a minute is waited for
STOP_SEEN_WITHIN_S = 0.25
BUSY_S = 15.0
GOOD_S = 0.1  # so long a turn may wait to be used


class Limit(NamedTuple):
    """Of one host."""

    rates: tuple[str, ...] = ()  # "20/minute", "200/day"; one for a day survives a restart
    at_once: int | None = None  # connections at the same time
    bytes_per_s: float | None = None  # alone it means one connection at a time

    @property
    def is_for_days(self) -> bool:
        return any(rate.endswith("/day") for rate in self.rates)

    @property
    def most(self) -> int:
        return max(int(rate.partition("/")[0]) for rate in self.rates)

    @property
    def spoken(self) -> str:
        """
        >>> Limit(("20/minute",), at_once=2, bytes_per_s=5e5).spoken, Limit().spoken
        ('20/minute, 2 at once, 500 kB/s', '')
        """
        at_once = () if self.at_once is None else (f"{self.at_once} at once",)
        speed = () if self.bytes_per_s is None else (f"{size(self.bytes_per_s)}/s",)
        return ", ".join([*self.rates, *at_once, *speed])


def merged(limits: Mapping[str, Limit], rates: Mapping[str, tuple[str, ...]]) -> dict[str, Limit]:
    """The limits by host; the rates that the user has set come before those we know of."""
    known = {host_named(host): limit for host, limit in limits.items()}
    for name, own in rates.items():
        if not own:
            raise UsageError(f"http.limits for {name}: give at least one, like 120/minute")
        host = host_named(name)
        known[host] = known.get(host, Limit())._replace(rates=tuple(own))
    return known


def pause_asked(retry_after: str) -> float | None:
    """Seconds, or a date, as a header asks for them, within reason; None if it is neither.

    >>> pause_asked("7"), pause_asked("31536000"), pause_asked("soon")
    (7.0, 3600.0, None)
    """
    if retry_after.strip().isdecimal():
        return min(float(retry_after), LONGEST_REST_S)
    try:
        left = email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, left), LONGEST_REST_S)


class Turns:
    """The turns of one host: its limits, kept. Any number of threads may share it."""

    def __init__(self, host: str, limit: Limit, stop: Event) -> None:
        self._host = host
        self._limit = limit
        self._stop = stop
        self._parsed = _parsed(host, limit.rates)
        self._made: Rates | None = None
        self._lock = Lock()  # they are made once
        self._places = _places(limit)
        self.on_ask: Callable[[str], object] = lambda host: None

    def _rates(self) -> Rates | None:
        """Not before the host is asked: most never are, and the import takes asyncio with it."""
        with self._lock:
            if self._made is None and self._parsed:
                from .rates import Rates

                self._made = Rates(self._host, self._parsed)
            return self._made

    def take(self, require_no_rest: Callable[[str], object]) -> OneTurn:
        """Returns when the host may be asked; then `give_back` must follow."""
        place = self._take_place()
        try:
            if (left := place - time.monotonic()) > 0:
                self._wait(left, f"{self._limit.bytes_per_s:,.0f} bytes a second", 0.0)
            taken = self.await_rate(require_no_rest)
            self.on_ask(self._host)
            return OneTurn(self, taken, require_no_rest)
        except BaseException:
            self._leave_place(place)
            raise

    def give_back(self, begun: float, size: int) -> None:
        """So many bytes came. The place is free again when they have had their time."""
        speed, places = self._limit.bytes_per_s, self._limit.at_once or 1
        self._leave_place(begun + size * places / speed if speed else 0.0)

    def forget(self, taken: int) -> None:
        """Nobody was asked at this moment, as was thought."""
        if (rates := self._rates()) is not None:
            rates.forget(taken)

    def remember(self, ages: Sequence[float]) -> None:
        """Requests were made so many seconds ago, before we began."""
        if ages and (rates := self._rates()) is not None:
            rates.remember(ages)

    def _take_place(self) -> float:
        """Since when it is free."""
        deadline = time.monotonic() + PATIENCE_S
        while self._places is not None:
            with suppress(Empty):
                return self._places.get(timeout=STOP_SEEN_WITHIN_S)
            if self._stop.is_set():
                raise Interrupted("stopping")
            if time.monotonic() > deadline:
                most = self._limit.at_once or 1
                raise Unavailable(f"all {most} connections to {self._host} are busy", BUSY_S)
        return 0.0

    def _leave_place(self, free_at: float) -> None:
        if self._places is not None:
            self._places.put(free_at)

    def await_rate(self, require_no_rest: Callable[[str], object]) -> int | None:
        """The moment that counts as one of a request; None if they are not counted. A rest that
        begins while we wait counts too."""
        rates, begun = self._rates(), time.monotonic()
        require_no_rest(self._host)
        if rates is None:
            return None
        while (taken := rates.take()) is None:
            waited = time.monotonic() - begun
            self._wait(rates.left(), " and ".join(self._limit.rates), waited)
            require_no_rest(self._host)
        return taken

    def _wait(self, seconds: float, allowed: str, waited: float) -> None:
        if waited + seconds > PATIENCE_S:
            until = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + seconds))
            raise Unavailable(
                f"{self._host} allows {allowed}: not to be asked before {until}", delay=seconds
            )
        logger.debug("waits %.2f s for %s, which allows %s", seconds, self._host, allowed)
        if self._stop.wait(seconds):
            raise Interrupted("stopping")


class OneTurn:
    """Of a host, for one request; only one thread has it. Where requests are counted it is good for
    a moment: those that were held up would arrive together with the next ones."""

    def __init__(
        self, turns: Turns, taken: int | None, require_no_rest: Callable[[str], object]
    ) -> None:
        self._turns = turns
        self._require_no_rest = require_no_rest
        self._taken: int | None = None
        self.until = 0.0
        self._begin(taken)

    def use(self) -> None:
        if time.monotonic() > self.until:
            self.renew()
        if self._taken is not None:
            self._taken, self.until = 0, 0.0  # a second request takes another

    def renew(self, is_used: bool = False) -> None:
        """Waits for another one, instead."""
        if self._taken and not is_used:
            self._turns.forget(self._taken)
        self._begin(self._turns.await_rate(self._require_no_rest))

    def give_back(self, begun: float, size: int) -> None:
        self._turns.give_back(begun, size)

    def _begin(self, taken: int | None) -> None:
        self._taken = taken
        self.until = time.monotonic() + (DAY_S if taken is None else GOOD_S)


class Taken(Protocol):
    """A turn that somebody has."""

    def use(self) -> None:
        """Called just before the request is written; waits for another turn if it is too late."""

    def give_back(self, begun: float, size: int) -> None: ...


class KeptLimits(Protocol):
    """What a client asks of whoever keeps the limits, be it here or in another process."""

    @property
    def rests(self) -> Rests: ...
    def take_turn(self, host: str) -> Taken | None: ...
    def close(self) -> None: ...


class Limits:
    """The limits and the rests of all hosts."""

    def __init__(self, limits: Mapping[str, Limit], stop: Event, budgets: Path | None) -> None:
        self._turns = {host: Turns(host, limit, stop) for host, limit in limits.items()}
        self.rests = Rests()
        for_days = {host: limit.most for host, limit in limits.items() if limit.is_for_days}
        self._budgets = Budgets(budgets, for_days) if budgets and for_days else None
        if self._budgets is not None:
            for host in for_days:
                self._turns[host].remember(self._budgets.ages(host))
                self._turns[host].on_ask = self._budgets.record

    def take_turn(self, host: str) -> OneTurn | None:
        """Returns when the host may be asked. Most hosts have no limits, and so no turns."""
        self.rests.require_none(host)
        turns = self._turns.get(host)
        return None if turns is None else turns.take(self.rests.require_none)

    def close(self) -> None:
        if self._budgets is not None:
            self._budgets.close()


def _parsed(host: str, rates: Sequence[str]) -> list[tuple[int, int]]:
    """How many in how many seconds."""
    found: list[tuple[int, int]] = []
    for rate in rates:
        count, _, period = rate.partition("/")
        if not count.isdecimal() or not int(count) or period not in PERIODS:
            raise UsageError(f"http.limits for {host}: {rate!r} is not like 120/minute")
        found.append((int(count), PERIODS[period]))
    for (fewer, short), (more, long) in pairwise(found):
        if not (short < long and fewer < more and fewer * long >= more * short):
            raise UsageError(
                f"http.limits for {host}: let a longer period allow more in all but not more per "
                "second"
            )
    return found


def _places(limit: Limit) -> PriorityQueue[float] | None:
    """Since when each place is free; the longest free is taken first."""
    if limit.at_once is None and not limit.bytes_per_s:
        return None
    places: PriorityQueue[float] = PriorityQueue()
    for _ in range(limit.at_once or 1):
        places.put(0.0)
    return places
