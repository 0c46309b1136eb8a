"""What the robots.txt of each host allows, and how slowly it wants to be asked.

Limit: the rules of the hosts asked last are held in memory; those of others are read from the table
again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock

from ..network.hosts import Hosts
from ..network.robots import Rules
from .page import HostNews
from .table import PageTable

MOST_HELD = 1000
KEPT_S = 86_400.0  # a robots.txt is read again after a day


class RobotsRules:
    def __init__(self, table: PageTable, hosts: Hosts) -> None:
        self._table = table
        self._hosts = hosts
        self._held: OrderedDict[str, tuple[float, Rules]] = OrderedDict()
        self._lock = Lock()

    def of(self, lane: str) -> Rules | None:
        """None if they are to be read first, or again."""
        with self._lock:
            if (held := self._held.get(lane)) is not None:
                self._held.move_to_end(lane)
        known = held or self._stored(lane)
        return known[1] if known and time.time() - known[0] < KEPT_S else None

    def learn(self, lane: str, text: str) -> tuple[Rules, HostNews]:
        """Its robots.txt was read; empty: it has none, and forbids nothing."""
        now, rules = time.time(), Rules(text.encode())
        self._hold(lane, (now, rules))
        delay = rules.crawl_delay
        return rules, HostNews(name=lane, robots=text, robots_at=now, crawl_delay=delay)

    def _stored(self, lane: str) -> tuple[float, Rules] | None:
        host = self._table.host(lane)
        if host is None or host.robots is None or host.robots_at is None:
            return None
        known = host.robots_at, Rules(host.robots.encode())
        self._hold(lane, known)
        return known

    def _hold(self, lane: str, known: tuple[float, Rules]) -> None:
        if (delay := known[1].crawl_delay) is not None:
            self._hosts.crawl_delay(lane, delay)
        with self._lock:
            self._held[lane] = known
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
