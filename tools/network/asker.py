"""Asks for anything, and brings whatever is said: every status, nothing followed, nothing repeated.

Promise: only where no answer could be had there is an error, and its word (`base.why`) tells
whether the host is to be left alone. When a host may be asked decides who hands the work out.
"""

from __future__ import annotations

import time
from collections import Counter
from http import HTTPStatus

from ..base.why import Why
from ..errors import NO_FILES, GiveUp, HarvestError, Unavailable
from ..proxy import Proxies, without_password
from .exchange import Exchange
from .heard import Heard, hear
from .request import Request
from .response import Response, unpacked
from .routes import DeadlineAdapter
from .traffic import Traffic
from .trouble import (
    NETWORK_ERRORS,
    NO_ADDRESSES,
    NoAnswer,
    NoUse,
    cause_of,
    failure,
    is_the_proxys,
    root_of,
    shown,
    why_of,
)
from .wire import NotConnected, Patience, wire_to

MOST_DOUBTS = 10


class Asker:
    def __init__(self, adapter: DeadlineAdapter, proxies: Proxies, traffic: Traffic) -> None:
        self._adapter = adapter
        self._proxies = proxies
        self.traffic = traffic
        self._doubts: Counter[str] = Counter()  # failures in a row, by proxy

    def ask(self, request: Request, host: str, patience: Patience, most_unpacked: int) -> Response:
        proxy = self._proxies.next() if self._proxies else None
        exchange, begun, was_asked = Exchange(host), time.monotonic(), True
        try:
            with wire_to(self._adapter, request.url, proxy, patience) as wire:
                heard = hear(wire, wire.ask(request), patience)
            exchange.status, exchange.size = heard.head.status, len(heard.payload)
            exchange.sent = len(heard.request) + len(request.body or b"")
        except NO_ADDRESSES as error:
            was_asked = False
            raise GiveUp(f"no web address: {shown(request.url)}") from error
        except (NotConnected, *NETWORK_ERRORS) as error:
            exchange.failure = why_of(error)
            raise self._trouble(host, proxy, error) from error
        except GiveUp as error:
            was_asked = isinstance(error, NoUse)  # else the guard let nobody ask
            raise
        finally:
            exchange.seconds = time.monotonic() - begun
            if was_asked:
                self.traffic.add(exchange)
                exchange.tell(request.method, request.url, proxy)
        if proxy:
            self._rate(proxy, heard.head.status)
        return _response(heard, request.url, proxy, most_unpacked)

    def _trouble(self, host: str, proxy: str | None, error: BaseException) -> HarvestError:
        if getattr(root_of(error), "errno", None) in NO_FILES:
            return Unavailable(f"no more connections can be opened ({cause_of(error)})")
        if proxy and isinstance(error, NotConnected) and is_the_proxys(error):
            self._proxies.bench(proxy, cause_of(error))
            way = without_password(proxy)
            return NoAnswer(f"{host}: {Why.PROXY}, {way} ({cause_of(error)})", Why.PROXY)
        trouble = failure(host, error)
        if proxy and trouble.why.is_network:
            self._doubt(proxy, trouble.why)
        return trouble

    def _doubt(self, proxy: str, why: Why) -> None:
        """It is mostly the host that is away; if nobody can be reached it is the proxy."""
        self._doubts[proxy] += 1
        if self._doubts[proxy] >= MOST_DOUBTS:
            self._proxies.bench(proxy, f"{MOST_DOUBTS} times in a row: {why}")
            del self._doubts[proxy]

    def _rate(self, proxy: str, status: int) -> None:
        if status != HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            self._doubts.pop(proxy, None)
            self._proxies.succeeded(proxy)
            return
        self._proxies.bench(proxy, "it wants other credentials (HTTP 407)")
        raise NoAnswer(f"proxy {without_password(proxy)} refused our credentials", Why.PROXY)


def _response(heard: Heard, url: str, proxy: str | None, most_unpacked: int) -> Response:
    head = heard.head
    codings = [value for name, value in head.fields if name.lower() == "content-encoding"]
    return Response(
        head.status,
        head.reason,
        head.version,
        head.fields,
        heard.payload,
        unpacked(heard.payload, codings, most_unpacked),
        url,
        None if proxy else heard.ip,
        heard.request,
    )
