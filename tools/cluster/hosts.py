"""Politeness over several machines: nodes write down what hosts say, and it goes home with each
result, to the one `Hosts` that decides who is asked when.

Promise: the delay of a host counts from when a node really began its request. A task that another
node may have begun, and fallen silent over, is begun no sooner than the host's delay later. What a
node says of hosts is a stranger's word: of the task's own host it is believed, of others only that
they were asked, and nobody can make a host be asked sooner by it.
Limit: a node that is cut off while it is at work ends what it has begun, redirects too.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock, local
from typing import Any, NamedTuple

from ..engine.stage import Done, Task, Worker
from ..errors import ComeBack, HarvestError, Interrupted, RetryLater
from ..network.hosts import Hosts

Said = list[Any]  # kind, lane, age, number, text

ASKING, ANSWERED, REST, TROUBLE = "asking", "answered", "rest", "trouble"
CRAWL_DELAY, LET_IN = "crawl_delay", "let_in"
KINDS = (ASKING, ANSWERED, REST, TROUBLE, CRAWL_DELAY, LET_IN)
MOST_EVENTS, MOST_LANES = 200, 30
LONGEST_REASON = 1000
LANE = re.compile(r"[^\s/?#@\x00-\x1f]{1,300}")
LONGEST_S = 366 * 86_400.0


class HostEvent(NamedTuple):
    kind: str
    lane: str
    age_s: float
    number: float | None = None
    text: str = ""


# --- on a node ---------------------------------------------------------------------------------


class NodeHosts(Hosts):
    """The hosts as one node sees them: whether it may ask, the coordinator has decided. A place
    works on one task at a time, so what is said in its thread belongs to that."""

    def __init__(self, stop: Event, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(0.0, 0.0, 1, math.inf, clock)
        self._stop = stop
        self._own = local()
        self._guard = Lock()
        self._waits: dict[str, float] = {}  # by URI, before it may be begun
        self._noted: dict[str, tuple[float, list[tuple[float, HostEvent]]]] = {}  # by URI

    def arrived(self, uri: str, said: Any, is_again: bool) -> None:
        """With what the coordinator says of its host; `is_again`: another node may have begun."""
        told = said if isinstance(said, dict) else {}
        gap_s = told.get("gap_s")
        if (is_again or told.get("again") is True) and isinstance(gap_s, int | float) and gap_s > 0:
            with self._guard:
                self._waits[uri] = float(gap_s)

    def given_back(self, uri: str) -> None:
        with self._guard:
            self._waits.pop(uri, None)

    def polite(self, work: Worker) -> Worker:
        """The same worker; what hosts say meanwhile is written down."""

        def worked(task: Task) -> Done:
            with self._noting(task.uri, task.lane or ""):
                return work(task)

        return worked

    def leaving(self, uri: str) -> Any:
        """What was written down, to go home with the result."""
        with self._guard:
            took_s, noted = self._noted.pop(uri, (0.0, []))
        now = self._clock()
        events = [[*each._replace(age_s=round(now - at, 4))] for at, each in noted]
        return {"took_s": took_s, "events": events[:MOST_EVENTS]}

    @contextmanager
    def _noting(self, uri: str, lane: str) -> Iterator[None]:
        with self._guard:
            wait_s = self._waits.pop(uri, 0.0)
        if wait_s and self._stop.wait(wait_s):
            raise Interrupted("this node stops")
        begun, self._own.noted = self._clock(), []
        if (delay := self._crawl_delays.get(lane)) is not None:  # who asks us may have forgotten
            self._note(CRAWL_DELAY, lane, delay)
        self.begun(lane)
        try:
            yield
        finally:
            took_s = self._clock() - begun
            self.ended(lane, took_s)
            with self._guard:
                self._noted[uri] = took_s, self._own.noted
            self._own.noted = None

    def _note(self, kind: str, lane: str, number: float | None = None, text: str = "") -> None:
        noted = getattr(self._own, "noted", None)
        if noted is not None:
            event = HostEvent(kind, lane, 0.0, number, text[:LONGEST_REASON])
            noted.append((self._clock(), event))

    def asking(self, lane: str, ago_s: float = 0.0) -> None:
        super().asking(lane, ago_s)
        self._note(ASKING, lane)

    def answered(self, lane: str) -> None:
        super().answered(lane)
        self._note(ANSWERED, lane)

    def rest(self, lane: str, seconds: float | None, reason: str) -> float:
        self._note(REST, lane, seconds, reason)
        return super().rest(lane, seconds, reason)

    def trouble(self, lane: str, reason: str = "it does not answer") -> bool:
        """If it is our own line, no host is to blame."""
        rests = super().trouble(lane, reason)
        if not self.is_own_line():
            self._note(TROUBLE, lane, None, reason)
        return rests

    def crawl_delay(self, lane: str, seconds: float) -> None:
        super().crawl_delay(lane, seconds)
        self._note(CRAWL_DELAY, lane, seconds)

    def let_in(self, lane: str) -> None:
        super().let_in(lane)
        self._note(LET_IN, lane)


# --- where it is decided -----------------------------------------------------------------------


class HostReports:
    """What nodes report of hosts, for those `hosts`."""

    def __init__(self, hosts: Hosts, clock: Callable[[], float] = time.monotonic) -> None:
        self._hosts = hosts
        self._clock = clock
        self._lock = Lock()
        self._sent: dict[str, tuple[int, float]] = {}  # by URI: its token, and when it was sent
        hosts.is_elsewhere = True

    def outgoing(self, task: Task) -> Mapping[str, Any]:
        """What a node is told of the task's host. `again`: who had it before may have asked."""
        with self._lock:
            token, first = self._sent.get(task.uri, (None, 0.0))
            is_again = token == task.token
            self._sent[task.uri] = task.token, first if is_again else self._clock()
        return {"gap_s": self._hosts.gap(task.lane or ""), "again": is_again}

    def incoming(self, task: Task, result: Done | HarvestError, said: Any) -> Done | HarvestError:
        """Do here what the node has done there, before the task's host is free again; what the
        result is by that: of a host that rests by now, nobody's attempt is spent. ValueError if it
        cannot be right."""
        with self._lock:
            token, sent = self._sent.pop(task.uri, (None, 0.0))
        most_s = self._clock() - sent if token == task.token else 0.0
        lane = task.lane or ""
        try:
            took_s, events = _checked(said, lane)
        except ValueError:
            self._hosts.asking(lane)
            raise
        task.begun = max(task.begun, self._clock() - took_s)
        if not any(each.kind == ASKING and each.lane == lane for each in events):
            self._hosts.asking(lane)  # perhaps it was, and nobody said so
        is_resting = [self._replay(each, most_s) for each in events]
        if any(is_resting) and isinstance(result, RetryLater):
            return ComeBack(str(result), 0.0)
        return result

    def _replay(self, event: HostEvent, most_s: float) -> bool:
        """Does the host rest now because it failed?"""
        hosts, lane, number = self._hosts, event.lane, event.number
        if event.kind == ASKING:
            hosts.asking(lane, min(event.age_s, most_s))
        elif event.kind == ANSWERED:
            hosts.answered(lane)
        elif event.kind == REST:
            hosts.rest(lane, number, event.text)
        elif event.kind == TROUBLE:
            return hosts.trouble(lane, event.text)
        elif event.kind == CRAWL_DELAY:
            hosts.crawl_delay(lane, number or 0.0)
        else:
            hosts.let_in(lane)
        return False


def _checked(said: Any, lane: str) -> tuple[float, list[HostEvent]]:
    """ValueError unless it is what `NodeHosts.leaving` says; None is of a node that had to say
    something else."""
    if said is None:
        return 0.0, []
    if not isinstance(said, dict) or said.keys() != {"took_s", "events"}:
        raise ValueError("what it says of hosts cannot be right")
    took_s, events = said["took_s"], said["events"]
    if not _is_number(took_s) or not isinstance(events, list) or len(events) > MOST_EVENTS:
        raise ValueError("what it says of hosts cannot be right")
    found = [_event(each, lane) for each in events]
    if len({each.lane for each in found}) > MOST_LANES:
        raise ValueError("it says that it has asked too many hosts")
    return float(took_s), found


def _event(fields: Any, lane: str) -> HostEvent:
    if not isinstance(fields, list) or len(fields) != len(HostEvent._fields):
        raise ValueError("what it says of hosts cannot be right")
    event = HostEvent(*fields)
    is_lane = isinstance(event.lane, str) and LANE.fullmatch(event.lane) is not None
    is_text = isinstance(event.text, str) and len(event.text) <= LONGEST_REASON
    needs_number = event.kind == CRAWL_DELAY
    is_told = _is_number(event.number) or (event.number is None and not needs_number)
    if event.kind not in KINDS or not (is_lane and is_text and is_told and _is_number(event.age_s)):
        raise ValueError("what it says of hosts cannot be right")
    if event.lane != lane and event.kind != ASKING:
        raise ValueError("it speaks of a host that is not its own")
    return event


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= LONGEST_S
