"""How much was asked and answered, host by host.

Promise: bounded, however many hosts there are and whether or not anybody looks. Any number of
threads may share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Any

from ..base.why import Why
from .exchange import Exchange

MOST_HOSTS = 10_000  # by name, between two looks; the rest is counted together
OTHERS = "other hosts"
MOST_AT_ONCE = 2**44  # of bytes, between two looks; sums of it are still numbers of a database
LONGEST_HOST = 300


class Traffic:
    """`requests`, `sent` and `bytes` (of requests, of bodies that came), `classes` (of answers:
    2xx, 4xx, none) and `failures` (why there was none) count from the beginning."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.sent = 0
        self.classes: Counter[str] = Counter()
        self.failures: Counter[Why] = Counter()
        self._hosts: dict[str, tuple[int, int]] = {}
        self._lock = Lock()

    def add(self, exchange: Exchange) -> None:
        with self._lock:
            self.requests += 1
            self.bytes += exchange.size
            self.sent += exchange.sent
            self.classes[f"{exchange.status // 100}xx" if exchange.status else "none"] += 1
            if exchange.failure is not None:
                self.failures[exchange.failure] += 1
            self._add(exchange.host, 1, exchange.size)

    def take(self) -> Mapping[str, tuple[int, int]]:
        """Requests and bytes of each host since this was last asked."""
        with self._lock:
            taken, self._hosts = self._hosts, {}
            return taken

    def drained(self) -> dict[str, Any] | None:
        """All that was counted, which is forgotten here: it goes to whoever counts for several
        processes. None if there is nothing."""
        with self._lock:
            if not self.requests:
                return None
            sums = {"requests": self.requests, "bytes": self.bytes, "sent": self.sent}
            failures = {why.value: number for why, number in self.failures.items()}
            kinds = {"classes": dict(self.classes), "failures": failures}
            table = {**sums, **kinds, "hosts": self._hosts}
            self.requests = self.bytes = self.sent = 0
            self.classes, self.failures, self._hosts = Counter(), Counter(), {}
            return table

    def merge(self, table: Mapping[str, Any]) -> None:
        """What was counted elsewhere; ValueError if that cannot be."""
        try:
            sums = [_count(table[name]) for name in ("requests", "bytes", "sent")]
            classes = {str(name): _count(number) for name, number in table["classes"].items()}
            failures = {Why(name): _count(number) for name, number in table["failures"].items()}
            hosts = {_host(host): (_count(a), _count(b)) for host, (a, b) in table["hosts"].items()}
        except (KeyError, TypeError, AttributeError):
            raise ValueError("no traffic") from None
        with self._lock:
            self.requests += sums[0]
            self.bytes += sums[1]
            self.sent += sums[2]
            self.classes.update(classes)
            self.failures.update(failures)
            for host, (requests, size) in hosts.items():
                self._add(host, requests, size)

    def _add(self, host: str, requests: int, size: int) -> None:
        is_known = host in self._hosts or len(self._hosts) < MOST_HOSTS
        name = host if is_known else OTHERS
        before = self._hosts.get(name, (0, 0))
        self._hosts[name] = (before[0] + requests, before[1] + size)


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MOST_AT_ONCE:
        raise ValueError("no traffic")
    return value


def _host(name: object) -> str:
    if not isinstance(name, str) or len(name) > LONGEST_HOST:
        raise ValueError("no traffic")
    return name
