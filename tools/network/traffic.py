"""How much was asked and answered, host by host.

Promise: bounded, however many hosts there are and whether or not anybody looks. Any number of
threads may share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

from .exchange import Exchange

MOST_HOSTS = 10_000  # by name, between two looks; the rest is counted together
OTHERS = "other hosts"


class Traffic:
    """`requests`, `sent` and `bytes` (of requests, of bodies that came) and `classes` (of answers:
    2xx, 4xx, none) count from the beginning."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.sent = 0
        self.classes: Counter[str] = Counter()
        self._hosts: dict[str, tuple[int, int]] = {}
        self._lock = Lock()

    def add(self, exchange: Exchange) -> None:
        with self._lock:
            self.requests += 1
            self.bytes += exchange.size
            self.sent += exchange.sent
            self.classes[f"{exchange.status // 100}xx" if exchange.status else "none"] += 1
            is_known = exchange.host in self._hosts or len(self._hosts) < MOST_HOSTS
            host = exchange.host if is_known else OTHERS
            requests, size = self._hosts.get(host, (0, 0))
            self._hosts[host] = (requests + 1, size + exchange.size)

    def take(self) -> Mapping[str, tuple[int, int]]:
        """Requests and bytes of each host since this was last asked."""
        with self._lock:
            taken, self._hosts = self._hosts, {}
            return taken
