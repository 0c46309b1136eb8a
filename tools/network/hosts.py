"""When each of very many hosts may be asked next, and which are left alone.

Promise: from the beginning of a request to that of the next of its host at least as much time
passes as the user and its robots.txt ask for, and from its end as much as its slowness does. A host
that fails again and again, or asks for a pause, rests for a while that grows, and costs nobody an
attempt; one answer and all is forgiven. If everybody fails it is our own line, and no host is
blamed. Nobody waits here: who hands the work out asks when. Memory is for those at work or in
trouble, however many were seen.

With `asks_first` a host gets one request at a time until `let_in` says that it is known what it
allows: whoever asks for its rules does so alone. With `is_elsewhere` other machines ask, some time
after a task was handed out: a host with a delay gets one task at a time, and the delay counts from
when its request began there.

Limit: where robots.txt asks for more than the usual delay, that number is kept for each host.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

from ..base.backoff import Rest

FAILURES_IN_A_ROW = 3
FIRST_REST_S, LONGEST_REST_S = 60.0, 3600.0
LAST_ANSWERS, OF_HOSTS = 10, 3
FEW = 4096  # hosts; fewer are not worth looking for idle ones


class Host:
    """What is known of one."""

    __slots__ = (
        *("asked", "fails_since", "failures", "is_known"),
        *("ready", "reason", "rest", "under_way"),
    )

    def __init__(self) -> None:
        self.is_known = False  # what it allows
        self.under_way = 0
        self.asked = 0.0  # when the last request began
        self.ready = 0.0
        self.failures = 0  # of the network, in a row
        self.fails_since: float | None = None
        self.rest: Rest | None = None
        self.reason = ""

    def ready_at(self) -> float:
        return self.ready if self.rest is None else max(self.ready, self.rest.until)

    def is_idle(self, now: float) -> bool:
        return not self.under_way and self.fails_since is None and self.ready_at() <= now


class Hosts:
    """The hosts of one harvest, each in a lane of its own. Any number of threads may share it."""

    def __init__(
        self,
        delay_s: float,
        delay_factor: float,
        per_host: int,
        crawl_delay_cap_s: float,
        clock: Callable[[], float] = time.monotonic,
        asks_first: bool = False,
    ) -> None:
        self._delay, self._factor, self._per_host = delay_s, delay_factor, per_host
        self._cap = crawl_delay_cap_s
        self._asks_first = asks_first
        self.is_elsewhere = False
        self._clock = clock
        self._lock = Lock()
        self._hosts: dict[str, Host] = {}
        self._crawl_delays: dict[str, float] = {}
        self._in_trouble: set[str] = set()
        self._last: deque[tuple[str, bool]] = deque(maxlen=LAST_ANSWERS)
        self._sweep_at = FEW

    # ---- for those who hand the work out

    def ready_at(self, lane: str) -> float:
        """The moment from which the host may be asked, by our clock."""
        host = self._hosts.get(lane)
        return 0.0 if host is None else host.ready_at()

    def places(self, lane: str) -> int:
        """How many requests it may get at the same time."""
        if self.is_elsewhere and self.gap(lane) > 0:
            return 1
        if not self._asks_first:
            return self._per_host
        host = self._hosts.get(lane)
        return self._per_host if host is not None and host.is_known else 1

    def begun(self, lane: str) -> None:
        with self._lock:
            host = self._host(lane)
            host.under_way += 1
            self._note_asked(host, lane)

    def gap(self, lane: str) -> float:
        """Seconds from the beginning of a request to that of the next."""
        return max(self._delay, self._crawl_delays.get(lane, 0.0))

    def ended(self, lane: str, seconds: float) -> None:
        """A request is over, well or not, and took so long."""
        with self._lock:
            host = self._host(lane)
            host.under_way = max(0, host.under_way - 1)
            host.ready = max(host.asked + self.gap(lane), self._clock() + self._factor * seconds)
            if len(self._hosts) > self._sweep_at:
                self._forget_idle()

    # ---- for those who ask

    def asking(self, lane: str, ago_s: float = 0.0) -> None:
        """A request begins now, or began so long ago: later than its task, or after others of the
        same task."""
        with self._lock:
            self._note_asked(self._host(lane), lane, ago_s)

    def crawl_delay(self, lane: str, seconds: float) -> None:
        """Its robots.txt asks for so much between two requests; it gets as much as the cap."""
        with self._lock:
            self._crawl_delays.pop(lane, None)
            if seconds > self._delay:
                self._crawl_delays[lane] = min(seconds, self._cap)

    def let_in(self, lane: str) -> None:
        """What it allows is known now."""
        with self._lock:
            if (host := self._hosts.get(lane)) is not None:
                host.is_known = True

    def answered(self, lane: str) -> None:
        """The host is well: its next failure counts as the first."""
        with self._lock:
            self._last.append((lane, True))
            host = self._hosts.get(lane)
            if host is not None and host.fails_since is not None:
                host.failures, host.fails_since = 0, None
                if host.rest is not None:
                    host.rest.succeeded()

    def rest(self, lane: str, seconds: float | None, reason: str) -> float:
        """It is left alone for so long, or, without a number, for a while that grows; how long."""
        with self._lock:
            return self._let_rest(self._host(lane), lane, seconds, reason)

    def trouble(self, lane: str, reason: str = "it does not answer") -> bool:
        """The network failed. Does the host rest now? Then that was nobody's attempt."""
        with self._lock:
            self._last.append((lane, False))
            if self._is_own_line():
                return False
            host = self._host(lane)
            host.failures += 1
            host.fails_since = self._clock() if host.fails_since is None else host.fails_since
            if host.failures >= FAILURES_IN_A_ROW:
                self._let_rest(host, lane, None, reason)
            return host.failures >= FAILURES_IN_A_ROW

    def is_own_line(self) -> bool:
        """Were the last answers, of several hosts, all failures of the network?"""
        with self._lock:
            return self._is_own_line()

    # ---- for those who look on

    @property
    def spoken(self) -> str:
        """What each of them is asked at most, if its robots.txt asks for no more patience.

        >>> Hosts(1.0, 1.0, 2, 60.0).spoken, Hosts(0.0, 0.0, 2, 60.0).spoken
        ('2 at once, 1 s between two', '2 at once')
        """
        between = f", {self._delay:g} s between two" if self._delay else ""
        return f"{self._per_host} at once{between}"

    def resting(self) -> list[tuple[str, float, str]]:
        """Who is left alone until when, and why; the first to come back first."""
        now = self._clock()
        with self._lock:
            hosts = [(lane, self._hosts[lane]) for lane in self._in_trouble]
            found = [(lane, host.ready_at(), host.reason) for lane, host in hosts]
        return sorted((each for each in found if each[1] > now), key=lambda each: each[1])

    def states(self) -> dict[str, int]:
        """How many are asked now, have their pause between two requests, or are left alone."""
        now = self._clock()
        with self._lock:
            hosts = list(self._hosts.values())
        others = [host for host in hosts if not host.under_way]
        resting = sum(host.rest is not None and host.rest.until > now for host in others)
        later = sum(host.ready_at() > now for host in others)
        return {"busy": len(hosts) - len(others), "waiting": later - resting, "resting": resting}

    def silent_for(self, lane: str) -> float:
        """Seconds since it began to fail or to ask for pauses; 0 if it is well."""
        host = self._hosts.get(lane)
        since = None if host is None else host.fails_since
        return 0.0 if since is None else self._clock() - since

    def __len__(self) -> int:
        """Of how many there is something to remember."""
        return len(self._hosts)

    def _note_asked(self, host: Host, lane: str, ago_s: float = 0.0) -> None:
        host.asked = max(host.asked, self._clock() - ago_s)
        host.ready = max(host.ready, host.asked + self.gap(lane))

    def _host(self, lane: str) -> Host:
        host = self._hosts.get(lane)
        if host is None:
            host = self._hosts[lane] = Host()
        return host

    def _let_rest(self, host: Host, lane: str, seconds: float | None, reason: str) -> float:
        if host.rest is None:
            host.rest = Rest(FIRST_REST_S, LONGEST_REST_S, clock=self._clock)
        host.reason = reason
        host.fails_since = self._clock() if host.fails_since is None else host.fails_since
        host.rest.begin(None if seconds is None else min(max(0.0, seconds), LONGEST_REST_S))
        self._in_trouble.add(lane)
        return host.rest.left

    def _is_own_line(self) -> bool:
        if len(self._last) < LAST_ANSWERS or any(is_well for _, is_well in self._last):
            return False
        return len({lane for lane, _ in self._last}) >= OF_HOSTS

    def _forget_idle(self) -> None:
        """As rarely as the number of hosts doubles, so that it costs next to nothing."""
        now = self._clock()
        idle = [lane for lane, host in self._hosts.items() if host.is_idle(now)]
        for lane in idle:
            del self._hosts[lane]
        self._in_trouble.difference_update(idle)
        self._sweep_at = max(FEW, 2 * len(self._hosts))
