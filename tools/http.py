"""One way out to the network.

Promise: an answer is whole, within its byte limit and its total deadline, or an error says what to
do next. Hosts get no more requests than their limits allow and are left alone when they ask for it.
The environment's proxy variables change nothing; with proxies set nothing goes direct.
"""

from __future__ import annotations

import email.utils
import itertools
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from pyrate_limiter import Duration, InMemoryBucket, Rate, RateItem

from tools.deadline import DeadlineAdapter
from tools.errors import GiveUp, Interrupted, ServerTrouble, Unavailable, UsageError
from tools.proxy import Proxies, without_password
from tools.settings import HttpSettings

logger = logging.getLogger(__name__)

CHUNK = 65536
MAX_REDIRECTS = 5
FIRST_GAP_S = 0.5
FIRST_REST_S = 60.0
LONGEST_REST_S = 3600.0
MOST_DOUBLINGS = 10
TRY_AGAIN = frozenset({408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERIODS = {
    "second": Duration.SECOND,
    "minute": Duration.MINUTE,
    "hour": Duration.HOUR,
    "day": Duration.DAY,
}
NETWORK_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as the statistics see it."""

    host: str
    status: int  # 0: no answer
    size: int
    seconds: float


class Client:
    """Asks hosts for things, politely. Any number of threads may share one."""

    def __init__(
        self, settings: HttpSettings, proxies: Proxies | None, stop: Event, connections: int = 16
    ) -> None:
        self._settings = settings
        self._proxies = proxies or Proxies(())
        self._stop = stop
        self._adapter = DeadlineAdapter(connections)
        self._timeout = urllib3.Timeout(
            connect=settings.connect_timeout_s, read=settings.answer_timeout_s
        )
        self._buckets = {host: _bucket(host, rates) for host, rates in settings.limits.items()}
        self._resting_until: dict[str, float] = {}
        self._rests: dict[str, int] = {}
        self._headers = {
            "User-Agent": user_agent(settings.contact),
            "Accept-Encoding": "gzip, deflate",
        }
        self.exchanges: SimpleQueue[Exchange] = SimpleQueue()

    def close(self) -> None:
        self._adapter.close()

    def get(self, url: str, accept: str, tries: int | None = None) -> Answer:
        """The answer to a GET, after retries and redirects; only 2xx is an answer."""
        for _ in range(MAX_REDIRECTS + 1):
            if not _is_web_address(url):
                raise GiveUp(f"no web address: {_shown(url)}")
            answer = self._get_with_retries(url, accept, tries or self._settings.tries)
            if answer.status not in REDIRECTS:
                return answer
            url = _redirected(answer)
        raise GiveUp(f"redirected too often, at last to {_shown(url)}")

    def _get_with_retries(self, url: str, accept: str, tries: int) -> Answer:
        for attempt in itertools.count(1):
            try:
                return self._judge(self._get_once(url, accept))
            except ServerTrouble:
                if attempt >= tries:
                    raise
                self._wait(FIRST_GAP_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
        raise AssertionError("unreachable")

    def _judge(self, answer: Answer) -> Answer:
        """2xx and redirects pass; everything else says what to do next."""
        host, status = urlsplit(answer.url).hostname or "", answer.status
        if status == 429 or (status == 503 and "Retry-After" in answer.headers):
            raise Unavailable(
                f"{host} asks for a pause (HTTP {status})", self._let_rest(host, answer)
            )
        if status in TRY_AGAIN:
            raise ServerTrouble(f"{host} answered HTTP {status}")
        self._rests.pop(host, None)
        if not 200 <= status < 300 and status not in REDIRECTS:
            raise GiveUp(f"HTTP {status} for {_shown(answer.url)}")
        return answer

    def _get_once(self, url: str, accept: str) -> Answer:
        host = urlsplit(url).hostname or ""
        self._await_turn(host)
        proxy = self._proxies.next() if self._proxies else None
        begun = time.monotonic()
        status = size = 0
        try:
            answer = self._exchange(url, accept, proxy)
            status, size = answer.status, len(answer.body)
        except NETWORK_ERRORS as error:
            if proxy:
                self._proxies.bench(proxy, _cause(error))
            raise ServerTrouble(f"{host}: {_cause(error)}") from error
        finally:
            self.exchanges.put(Exchange(host, status, size, time.monotonic() - begun))
        if proxy:
            self._rate_proxy(proxy, status)
        return answer

    def _rate_proxy(self, proxy: str, status: int) -> None:
        if status != 407:
            self._proxies.praise(proxy)
            return
        self._proxies.bench(proxy, "it wants other credentials (HTTP 407)")
        raise ServerTrouble(f"proxy {without_password(proxy)} refused our credentials")

    def _exchange(self, url: str, accept: str, proxy: str | None) -> Answer:
        headers = self._headers | {"Accept": accept}
        response = self._adapter.get(url, headers, self._timeout, proxy)
        try:
            body = self._read(response)
        except BaseException:
            response.close()  # half an answer: this connection is of no further use
            raise
        return Answer(response.status, response.headers, body, url)

    def _read(self, raw: urllib3.BaseHTTPResponse) -> bytes:
        limit = self._settings.max_bytes
        body = bytearray()
        for chunk in raw.stream(CHUNK, decode_content=True):
            body += chunk
            if len(body) > limit:
                raise GiveUp(f"the answer is larger than {limit:,} bytes")
        return bytes(body)

    def _await_turn(self, host: str) -> None:
        """Wait until the host's limits allow a request; do not even ask a host that rests."""
        bucket = self._buckets.get(host)
        while True:
            rest = self._resting_until.get(host, 0.0) - time.monotonic()
            if rest > 0:
                raise Unavailable(f"{host} rests for another {rest:.0f} s", delay=rest)
            if bucket is None:
                return
            now = int(bucket.now())  # type: ignore[no-untyped-call]
            bucket.leak(now)
            if bucket.put(RateItem(host, now)):
                return
            self._wait(_until_room(bucket, now))

    def _let_rest(self, host: str, answer: Answer) -> float:
        """How long the host is left alone: what it asks for, else a while that grows.

        Requests under way together are refused together: that is one rest, not several.
        """
        rests = self._rests.get(host, 0)  # read before and written after the other: no lock needed
        if self._resting_until.get(host, 0.0) <= time.monotonic() or not rests:
            rests += 1
        asked = _retry_after(answer.headers.get("Retry-After", ""))
        own = FIRST_REST_S * 2 ** min(rests - 1, MOST_DOUBLINGS) * random.uniform(0.9, 1.1)
        pause = min(own if asked is None else asked, LONGEST_REST_S)
        self._resting_until[host] = time.monotonic() + pause
        self._rests[host] = rests
        return pause

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Interrupted("stopping")


def user_agent(contact: str) -> str:
    return f"Sheaf/0.1 (knowledge graph harvester{'; ' + contact if contact else ''})"


def _bucket(host: str, rates: Sequence[str]) -> InMemoryBucket:
    parsed = []
    for rate in rates:
        count, _, period = rate.partition("/")
        if not count.isdecimal() or not int(count) or period not in PERIODS:
            raise UsageError(f"http.limits for {host}: {rate!r} is not like 120/minute")
        parsed.append(Rate(int(count), PERIODS[period]))
    try:
        return InMemoryBucket(parsed)
    except ValueError as error:
        raise UsageError(
            f"http.limits for {host}: give at least one, and let a longer period allow more in all"
            " but not more per second"
        ) from error


def _until_room(bucket: InMemoryBucket, now: int) -> float:
    """Seconds until the request that fills the tightest limit is old enough."""
    filling = ((rate, bucket.peek(rate.limit - 1)) for rate in bucket.rates)
    waits = [item.timestamp + rate.interval - now + 1 for rate, item in filling if item]
    return max(waits, default=1) / 1000


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _redirected(answer: Answer) -> str:
    """Where the answer sends us; nowhere if that makes no sense."""
    location = answer.headers.get("Location", "")
    try:
        return urljoin(answer.url, location) if location else ""
    except ValueError:
        return ""


def _retry_after(value: str) -> float | None:
    """Seconds, or a date; None if it is neither."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _cause(error: BaseException) -> str:
    """The innermost reason in a few words, without addresses that may hold a password."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    if isinstance(error, TimeoutError):
        return "no complete answer in time"
    return f"{type(error).__name__}: {error}"[:200] if str(error) else type(error).__name__


def _shown(url: str) -> str:
    try:
        return without_password(url) + urlsplit(url).path
    except ValueError:
        return "one that cannot be read"
