"""One way out to the network.

Promise: an answer is whole, within its byte limit and its total deadline, or an error says what to
do next. Hosts get no more requests than their limits allow and are left alone when they ask for it.
Only public addresses are asked, and hosts the settings name; a redirect changes nothing about that.
The environment's proxy variables change nothing; with proxies set no request goes direct.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import MappingProxyType

from ..base.backoff import pause_after
from ..errors import (
    NO_FILES,
    BadStatus,
    GiveUp,
    HarvestError,
    Interrupted,
    ServerTrouble,
    Unavailable,
)
from ..proxy import Proxies, without_password
from .asker import Asker
from .asking import Answer, Asking, read_answer, sent_on, web_host
from .body import Memory, Sink
from .exchange import Exchange
from .guard import Guard, host_named
from .head import FieldsByName
from .large_answers import Turn
from .limits import KeptLimits, Limit, Limits, merged, pause_asked
from .request import MAX_REDIRECTS, REDIRECTS, Request
from .response import Response
from .rests import Trouble
from .routes import DeadlineAdapter
from .settings import HttpSettings
from .traffic import Traffic
from .trouble import NETWORK_ERRORS, NO_ADDRESSES, cause_of, root_of, shown, why_of
from .wire import NotConnected, Patience, Ready, wire_to

__all__ = ["Answer", "Asking", "Client", "Exchange", "user_agent"]

logger = logging.getLogger(__name__)

FIRST_GAP_S = 0.5
TRY_AGAIN = frozenset({408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524})
NO_SECRETS = frozenset({"Range", "If-Range"})
NO_LIMITS: Mapping[str, Limit] = MappingProxyType({})


class Client:
    """Asks hosts for things, politely. Any number of threads may share one.

    `trusted` and the setting private_hosts name hosts, with their ports, that may be asked though
    their addresses are not public. `budgets` is the file that carries limits for a day over a
    restart; without one they begin anew. `hosts` is how many are asked by turns. `kept` are limits
    that somebody else keeps, instead of our own.
    """

    def __init__(
        self,
        settings: HttpSettings,
        proxies: Proxies | None,
        stop: Event,
        connections: int = 16,
        *,
        limits: Mapping[str, Limit] = NO_LIMITS,
        trusted: Collection[str] = (),
        budgets: Path | None = None,
        hosts: int = 0,
        kept: KeptLimits | None = None,
    ) -> None:
        self._settings = settings
        self._proxies = proxies or Proxies(())
        self._stop = stop
        self._guard = Guard({*trusted, *settings.private_hosts})
        self._adapter = DeadlineAdapter(connections, self._guard, hosts)
        known = merged(limits, settings.limits)
        self._limits: KeptLimits = kept or Limits(known, stop, budgets)
        self.allowed = {host: limit.spoken for host, limit in known.items() if any(limit)}
        self._headers = {
            "User-Agent": user_agent(settings.contact),
            "Accept-Encoding": "gzip, deflate",
        }
        self.traffic = Traffic()
        self._asker = Asker(self._adapter, self._proxies, self.traffic)

    def close(self) -> None:
        self._adapter.close()
        self._limits.close()

    def get(
        self,
        url: str,
        accept: str,
        tries: int | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        into: Sink | None = None,
        seconds: float | None = None,
        silence: float | None = None,
    ) -> Answer:
        """The answer to a GET, after retries and redirects; only 2xx is an answer.

        `headers` may hold credentials: another host does not get them. `seconds` are for each
        whole answer. With `silence` a sink gets the body as it was sent, however long that takes:
        only so many seconds without a byte end it.
        """
        own = self._headers | {"Accept": accept}
        own |= {name: value for name, value in (headers or {}).items() if name in NO_SECRETS}
        if into is not None:
            own["Accept-Encoding"] = "identity"
        asking = Asking(
            url,
            web_host(url),
            {**own, **headers} if headers else own,
            Memory(self._settings.max_bytes) if into is None else into,
            self._patience(seconds),
            tries or self._settings.tries,
            silence,
        )
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._get_with_retries(asking)
            if answer.status not in REDIRECTS:
                return answer
            asking = sent_on(asking, answer, own)
        raise GiveUp(f"redirected too often, at last to {shown(asking.url)}")

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        most: int | None = None,
        most_unpacked: int | None = None,
        seconds: float | None = None,
        turn: Turn | None = None,
    ) -> Response:
        """Whatever is answered, once: every status, no redirect followed, no limit waited for.

        `most` bytes may be sent, and what they unpack to is bounded, too; `seconds` are for all of
        it. With a `turn` a large one counts as in memory until that ends. No answer is a NoAnswer,
        one of no use a NoUse; a GiveUp says whom not to ask.
        """
        limit, patience = self._settings.max_bytes, self._settings.answer_timeout_s
        return self._asker.ask(
            Request(method, url, {**self._headers, "Accept": "*/*", **(headers or {})}, body),
            web_host(url),
            Patience(self._settings.connect_timeout_s, seconds or patience, most or limit, turn),
            most_unpacked or limit,
        )

    @contextmanager
    def turn(self, url: str) -> Iterator[None]:
        """The next turn of this host, where its rates are limited: `ask` alone waits for none."""
        turns, begun = self._limits.take_turn(web_host(url)), time.monotonic()
        try:
            yield
        finally:
            if turns is not None:
                turns.give_back(begun, 0)

    @property
    def limits(self) -> KeptLimits:
        """For whoever grants turns to others."""
        return self._limits

    def trust(self, host: str) -> None:
        """The user has named this host, with its port unless that is the web's: it may be asked
        though its address is not public."""
        self._guard.trust(host)

    def let_rest(self, host_or_url: str, reason: str, seconds: float | None = None) -> float:
        """Nobody asks this host for so long, or for a while that grows; how long that is."""
        host = web_host(host_or_url) if "//" in host_or_url else host_named(host_or_url)
        return self._limits.rests.begin(host, reason, seconds)

    def resting(self) -> int:
        """How many hosts are left alone now."""
        return self._limits.rests.number()

    def troubles(self) -> list[Trouble]:
        """Whom we leave alone, for how long and why."""
        return self._limits.rests.now()

    def _patience(self, seconds: float | None) -> Patience:
        settings = self._settings
        whole = settings.answer_timeout_s if seconds is None else seconds
        return Patience(settings.connect_timeout_s, whole, settings.max_bytes)

    def _get_with_retries(self, asking: Asking) -> Answer:
        for attempt in itertools.count(1):
            try:
                return self._judge(asking, self._get_once(asking))
            except ServerTrouble:
                if attempt >= asking.tries:
                    raise
                self._wait(pause_after(attempt, FIRST_GAP_S, spread=0.5))
        raise AssertionError("unreachable")

    def _judge(self, asking: Asking, answer: Answer) -> Answer:
        """2xx and redirects pass; everything else says what to do next."""
        host, status = asking.host, answer.status
        if status == 429 or (status == 503 and "Retry-After" in answer.headers):
            pause = pause_asked(answer.headers.get("Retry-After", ""))
            reason = f"{host} asks for a pause (HTTP {status})"
            raise Unavailable(reason, self._limits.rests.begin(host, f"HTTP {status}", pause))
        if status in TRY_AGAIN:
            raise ServerTrouble(f"{asking.name} answered HTTP {status}")
        self._limits.rests.end(host)
        if not 200 <= status < 300 and status not in REDIRECTS:
            raise BadStatus(f"HTTP {status} for {shown(asking.url)}", status)
        return answer

    def _get_once(self, asking: Asking) -> Answer:
        turn = self._limits.take_turn(asking.host)
        exchange = Exchange(asking.host)
        begun = time.monotonic()
        try:
            return self._ask(asking, exchange, None if turn is None else turn.use)
        finally:
            if turn is not None:
                turn.give_back(begun, exchange.size)

    def _ask(self, asking: Asking, exchange: Exchange, use_turn: Ready | None) -> Answer:
        proxy = self._proxies.next() if self._proxies else None
        begun = time.monotonic()
        was_asked = True
        try:
            answer = self._exchange(asking, proxy, exchange, use_turn)
        except NO_ADDRESSES as error:
            was_asked = False
            raise GiveUp(f"no web address: {shown(asking.url)}") from error
        except (NotConnected, *NETWORK_ERRORS) as error:
            exchange.status, exchange.failure = 0, why_of(error)
            if getattr(root_of(error), "errno", None) in NO_FILES:
                was_asked = False
                raise Unavailable(
                    f"no more connections can be opened ({cause_of(error)})"
                ) from error
            if proxy:
                self._proxies.bench(proxy, cause_of(error))
            raise ServerTrouble(f"{asking.name}: {cause_of(error)}") from error
        except HarvestError:
            was_asked = exchange.status > 0  # else the guard let nobody ask, or it was too late
            raise
        finally:
            exchange.seconds = time.monotonic() - begun
            if was_asked:
                self.traffic.add(exchange)
                exchange.tell("GET", asking.url, proxy)
        if proxy:
            self._rate_proxy(proxy, answer.status)
        return answer

    def _rate_proxy(self, proxy: str, status: int) -> None:
        if status != 407:
            self._proxies.succeeded(proxy)
            return
        self._proxies.bench(proxy, "it wants other credentials (HTTP 407)")
        raise ServerTrouble(f"proxy {without_password(proxy)} refused our credentials")

    def _exchange(
        self, asking: Asking, proxy: str | None, exchange: Exchange, use_turn: Ready | None
    ) -> Answer:
        with wire_to(self._adapter, asking.url, proxy, asking.patience) as wire:
            arrival = wire.ask(Request("GET", asking.url, asking.headers), use_turn)
            exchange.status, exchange.sent = arrival.head.status, len(wire.head)
            for count in read_answer(arrival, asking):
                exchange.size += count
        body = bytes(asking.into.body) if isinstance(asking.into, Memory) else b""
        return Answer(exchange.status, FieldsByName(arrival.head.fields), body, asking.url)

    def _wait(self, seconds: float) -> None:
        logger.debug("waits %.2f s before it asks again", seconds)
        if self._stop.wait(seconds):
            raise Interrupted("stopping")


def user_agent(contact: str) -> str:
    return f"Sheaf/0.1 (knowledge graph harvester{'; ' + contact if contact else ''})"
