"""What is known of each host: its robots.txt, how it is reached, and when it may be asked.

Promise: nothing of a host is asked before its robots.txt was read, and nothing that it forbids.
Limit: the rules of the hosts asked last are held in memory; the others are read from the table.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock

from ..network.robots import Robots
from .page import HostNews
from .table import PageTable

MOST_HELD = 1000
KEPT_S = 86_400.0  # a robots.txt is read again after a day


class Hosts:
    def __init__(self, table: PageTable) -> None:
        self._table = table
        self._rules: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self._lock = Lock()

    def rules(self, lane: str) -> Robots | None:
        """None if they are to be read first, or again."""
        with self._lock:
            if (held := self._rules.get(lane)) is not None:
                self._rules.move_to_end(lane)
        known = held or self._stored(lane)
        return known[1] if known and time.time() - known[0] < KEPT_S else None

    def learn(self, lane: str, text: str) -> tuple[Robots, HostNews]:
        """Its robots.txt was read; empty: it has none, and forbids nothing."""
        now, rules = time.time(), Robots.read(text)
        self._hold(lane, (now, rules))
        delay = rules.crawl_delay
        return rules, HostNews(name=lane, robots=text, robots_at=now, crawl_delay=delay)

    def _stored(self, lane: str) -> tuple[float, Robots] | None:
        host = self._table.host(lane)
        if host is None or host.robots is None or host.robots_at is None:
            return None
        known = host.robots_at, Robots.read(host.robots)
        self._hold(lane, known)
        return known

    def _hold(self, lane: str, known: tuple[float, Robots]) -> None:
        with self._lock:
            self._rules[lane] = known
            while len(self._rules) > MOST_HELD:
                self._rules.popitem(last=False)
