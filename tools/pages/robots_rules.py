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
from .lookup import HostLookup
from .page import HostNews

MOST_HELD = 1000
KEPT_S = 86_400.0  # a robots.txt is read again after a day
AGAIN_S = 60.0  # while one reads it again, the others keep to what it said


class RobotsRules:
    def __init__(self, table: HostLookup, hosts: Hosts) -> None:
        self._table = table
        self._hosts = hosts
        self._held: OrderedDict[str, tuple[float, Rules]] = OrderedDict()
        self._lock = Lock()

    def of(self, lane: str) -> Rules | None:
        """None if they are to be read first, or again: by the one who is told so, and by nobody
        else meanwhile."""
        known = self._known(lane)
        if known is None or self._is_to_be_read(lane, known):
            return None
        self._hosts.let_in(lane)
        return known[1]

    def so_far(self, lane: str) -> Rules | None:
        """For whoever will not read them."""
        known = self._known(lane)
        return known[1] if known and time.time() - known[0] < KEPT_S else None

    def learn(self, lane: str, text: str) -> tuple[Rules, HostNews]:
        """Its robots.txt was read; empty: it has none, and forbids nothing."""
        now, rules = time.time(), Rules(text.encode())
        self._hold(lane, (now, rules))
        self._hosts.let_in(lane)
        delay = rules.crawl_delay
        return rules, HostNews(name=lane, robots=text, robots_at=now, crawl_delay=delay)

    def _known(self, lane: str) -> tuple[float, Rules] | None:
        with self._lock:
            if (held := self._held.get(lane)) is not None:
                self._held.move_to_end(lane)
        return held or self._stored(lane)

    def _is_to_be_read(self, lane: str, known: tuple[float, Rules]) -> bool:
        now = time.time()
        with self._lock:
            read_at, rules = self._held.get(lane, known)
            if now - read_at < KEPT_S:
                return False
            self._held[lane] = now - KEPT_S + AGAIN_S, rules
            return True

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
