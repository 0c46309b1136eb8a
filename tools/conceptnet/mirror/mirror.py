"""A local server that answers like ConceptNet's web API, from a file instead of its database.

Promise: what `pages` says goes out as `server` does it. Past its limits a client gets the
original's 429: HTML, and no Retry-After.
Limits: those of `server`, which is why it listens on loopback unless asked otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from time import monotonic

from pyrate_limiter import InMemoryBucket, Rate, RateItem

from ...network import server
from ...network.reply import Reply, html_error
from ..index.index import Index
from .browser import for_reader
from .pages import answer_to, json_error


class Handler(server.Handler):
    """One connection. Subclasses change what is said (`answer`) or how it is sent (`send`)."""

    server: _Server
    server_version = "mirror"

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        return answer_to(self.server.assertions, path, query)

    def respond(self, path: str, query: Mapping[str, str]) -> Reply:
        if refusal := self.server.limits.refusal(self.client_address[0]):
            return html_error(429, refusal)
        return for_reader(super().respond(path, query), self.headers.get("Accept", ""), query)

    def error_answer(self) -> Reply:
        return json_error(500, "Internal server error")


class Mirror(server.Serving):
    """Serves assertions from a background thread while the `with` block lasts.

    `limits` are pairs of requests and seconds which each client address may use up.
    """

    def __init__(
        self,
        assertions: Index,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Sequence[tuple[int, float]] | None = None,
        *,
        handler: type[Handler] = Handler,
    ) -> None:
        listening = _Server((host, port), handler, assertions, ClientLimits(limits or ()))
        super().__init__(listening, "mirror")


class ClientLimits:
    """How many requests each client address may still make; without limits, any number."""

    _MANY_CLIENTS = 1_000

    def __init__(
        self, limits: Sequence[tuple[int, float]], clock: Callable[[], float] = monotonic
    ) -> None:
        self._rates = [Rate(requests, round(seconds * 1000)) for requests, seconds in limits]
        if self._rates:
            InMemoryBucket(self._rates)  # refuses contradictory limits now, not at a request
        self._clock = clock
        self._buckets: dict[str, InMemoryBucket] = {}
        self._lock = Lock()

    def refusal(self, client: str) -> str | None:
        """Count a request; the limit it would break, in the words of the original."""
        if not self._rates:
            return None
        now = round(self._clock() * 1000)
        with self._lock:
            if len(self._buckets) > self._MANY_CLIENTS:
                self._forget_idle_clients(now)
            bucket = self._buckets.setdefault(client, InMemoryBucket(self._rates))
            bucket.leak(now)
            bucket.put_decision(RateItem(client, now))
            return None if bucket.failing_rate is None else _in_words(bucket.failing_rate)

    def _forget_idle_clients(self, now: int) -> None:
        for client, bucket in list(self._buckets.items()):
            bucket.leak(now)
            if not bucket.count():
                del self._buckets[client]


class _Server(server.Server):
    def __init__(
        self,
        address: tuple[str, int],
        handler: type[Handler],
        assertions: Index,
        limits: ClientLimits,
    ) -> None:
        self.assertions = assertions
        self.limits = limits
        super().__init__(address, handler)


def _in_words(rate: Rate) -> str:
    """
    >>> _in_words(Rate(600, 60_000)), _in_words(Rate(5, 1_500))
    ('600 per 1 minute', '5 per 1.5 second')
    """
    units = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000}
    for unit, milliseconds in units.items():
        if rate.interval % milliseconds == 0:
            return f"{rate.limit} per {rate.interval // milliseconds} {unit}"
    return f"{rate.limit} per {rate.interval / 1000:g} second"
