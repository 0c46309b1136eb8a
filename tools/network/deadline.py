"""Sockets that are read until a moment in time, and lead only where a guard lets them.

Promise: a timeout holds for the whole of what is read, however slowly the bytes drip; a socket's
own timeout starts anew with each of them. A direct connection is made to an address that the guard
has checked; the name in the request and in the certificate is still that of the host.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import urllib3
from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.contrib.socks import (
    SOCKSConnection,
    SOCKSHTTPConnectionPool,
    SOCKSHTTPSConnection,
    SOCKSHTTPSConnectionPool,
)

from .guard import Guard, connect

TOLERANCE_S = 0.05
MOST_INTERIM = 100  # answers below 200 before the final one
MOST_INTERIM_BYTES = 65536  # of their headers, all together


class DeadlineReader(io.RawIOBase):
    """Reads a socket until a moment in time, however slowly the bytes drip."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self.deadline = time.monotonic() + (sock.gettimeout() or 0.0)
        self.ended = False
        self._silence: float | None = None
        self._is_over = False

    def allow_silence(self, silence: float) -> None:
        """From now on the deadline is for the next byte: only so many seconds of silence end it."""
        self._silence = silence
        self._renew(silence)

    def has_more_than(self, taken: io.BufferedReader) -> bool:
        """Has more arrived here than was taken? From now on nothing more is read."""
        self._is_over = True
        pending = getattr(self._sock, "pending", None)  # what TLS has unpacked already
        return bool(taken.peek(1)) or bool(pending and pending())

    def hang_up(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._is_over:
            return 0
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to arrive")
        if left < (self._sock.gettimeout() or 0.0) - TOLERANCE_S:  # each change is a system call
            self._sock.settimeout(left)
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        if count and self._silence is not None:
            self._renew(self._silence)
        return count

    def _renew(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        if (self._sock.gettimeout() or 0.0) < seconds:  # it was shortened on the way
            self._sock.settimeout(seconds)

    def close(self) -> None:
        self._raw.close()
        super().close()


class DeadlineResponse(http.client.HTTPResponse):
    """The read timeout holds for the whole answer, headers and body, not for each read of it.

    It is the final answer, and all that came: a connection on which anything else was said is not
    used again, lest the next request gets this one's answer.
    """

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._reader = DeadlineReader(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        if self._reader.ended:  # http.client takes the end of the connection for an empty line
            raise ConnectionError("cut off within the headers")
        self.will_close = self.will_close or _is_oddly_framed(self.headers)

    def _read_status(self) -> tuple[str, int, str]:
        """Of the final answer: http.client takes every interim one but 100 for it."""
        left = MOST_INTERIM_BYTES
        for _ in range(MOST_INTERIM + 1):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status >= 200:
                return version, status, reason
            if status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                raise ConnectionError("HTTP 101, a change of protocol that nobody asked for")
            while (line := self.fp.readline(left + 1)).strip():
                left -= len(line)
                if left < 0:
                    raise ConnectionError("too many interim answers")
        raise ConnectionError("too many interim answers")

    def _close_conn(self) -> None:
        """The body is at its end, or nobody wants the rest of it."""
        if self._reader.has_more_than(self.fp):
            self._reader.hang_up()
        super()._close_conn()  # type: ignore[misc]


def _is_oddly_framed(headers: http.client.HTTPMessage) -> bool:
    """Can it be doubted where the body ends?"""
    lengths, codings = headers.get_all("Content-Length", []), headers.get_all("Transfer-Encoding")
    if codings:
        return bool(lengths) or [each.lower() for each in codings] != ["chunked"]
    return len(lengths) > 1 or bool(headers.defects)


def allow_silence(response: urllib3.BaseHTTPResponse, silence: float) -> None:
    """The rest of this answer may take any time, but for so many seconds of silence."""
    cast(Any, response)._fp._reader.allow_silence(silence)


class GuardedConnection(HTTPConnection):
    """Connects only where its guard lets it; keeping a connection costs nothing more."""

    guard: Guard

    def _new_conn(self) -> socket.socket:
        if self.guard.trusts(self.host, self.port):
            return super()._new_conn()
        addresses = self.guard.addresses(self._dns_host, self.port)
        return connect(addresses, cast(float, self.timeout), self.socket_options or ())


class GuardedSocksConnection(SOCKSConnection):
    """A SOCKS proxy that wants addresses, not names, gets one that was checked."""

    guard: Guard

    def _new_conn(self) -> Any:
        name = self._dns_host
        if self._socks_options["rdns"] or self.guard.trusts(self.host, self.port):
            return super()._new_conn()
        addresses = self.guard.addresses(name, self.port)
        self._dns_host = min((each.ip for each in addresses), key=lambda ip: ":" in ip)  # v4 first
        try:
            return super()._new_conn()
        finally:
            self._dns_host = name


Pools = dict[str, type[HTTPConnectionPool]]


def _pools_with_deadline(
    plain: tuple[type[HTTPConnection], ...],
    tls: tuple[type[HTTPConnection], ...],
    pool: type[HTTPConnectionPool],
    tls_pool: type[HTTPSConnectionPool],
    guard: Guard | None = None,
) -> Pools:
    """The same connection pools, whose connections read with a deadline."""
    own: dict[str, Any] = {"response_class": DeadlineResponse}
    if guard is not None:
        own["guard"] = guard
    connection = type(f"Deadline{plain[-1].__name__}", plain, own)
    tls_connection = type(f"Deadline{tls[-1].__name__}", tls, own)
    return {
        "http": type(f"Deadline{pool.__name__}", (pool,), {"ConnectionCls": connection}),
        "https": type(
            f"Deadline{tls_pool.__name__}", (tls_pool,), {"ConnectionCls": tls_connection}
        ),
    }


def _direct_pools(guard: Guard) -> Pools:
    plain, tls = (GuardedConnection, HTTPConnection), (GuardedConnection, HTTPSConnection)
    return _pools_with_deadline(plain, tls, HTTPConnectionPool, HTTPSConnectionPool, guard)


def _socks_pools(guard: Guard) -> Pools:
    plain = (GuardedSocksConnection, SOCKSConnection)
    tls = (GuardedSocksConnection, SOCKSHTTPSConnection)
    return _pools_with_deadline(
        plain, tls, SOCKSHTTPConnectionPool, SOCKSHTTPSConnectionPool, guard
    )


# The proxy itself is named by the settings: it may be anywhere.
PROXY_POOLS = _pools_with_deadline(
    (HTTPConnection,), (HTTPSConnection,), HTTPConnectionPool, HTTPSConnectionPool
)


class Route(NamedTuple):
    """How a host is reached."""

    pool: HTTPConnectionPool
    asks_for_whole_url: bool  # as a plain HTTP proxy wants it
    host: str
    port: int


class DeadlineAdapter(HTTPAdapter):
    """requests' way to the network, direct or through a proxy, over such connections.

    `get` takes connections, TLS and proxies from requests, but not its request and response
    objects: making those costs more than the exchange itself.
    """

    MOST_POOLS = 40
    MOST_ROUTES = 32  # fewer than the pools that are kept open, so that a route is never stale

    def __init__(self, connections: int, guard: Guard) -> None:
        self._guard = guard
        self._socks_pools = _socks_pools(guard)
        self._routes: dict[tuple[str, str | None], Route] = {}
        super().__init__(self.MOST_POOLS, connections, max_retries=0)

    def get(
        self, url: str, headers: Mapping[str, str], timeout: urllib3.Timeout, proxy: str | None
    ) -> urllib3.BaseHTTPResponse:
        """Ask; the answer's body is still to be read."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        route = self._routes.get((origin, proxy)) or self._find_route(origin, proxy)
        if proxy:
            self._guard.require_public(route.host, route.port)
        path = url[len(origin) :] or "/"
        return route.pool.urlopen(
            "GET",
            url if route.asks_for_whole_url else path if path[0] == "/" else f"/{path}",
            headers=headers,
            timeout=timeout,
            retries=False,
            redirect=False,
            assert_same_host=False,  # through a proxy it is another one
            preload_content=False,
        )

    def _find_route(self, origin: str, proxy: str | None) -> Route:
        request = PreparedRequest()
        request.prepare(method="GET", url=f"{origin}/")
        proxies = {"http": proxy, "https": proxy} if proxy else {}
        pool = self.get_connection_with_tls_context(request, verify=True, proxies=proxies)
        self.cert_verify(pool, origin, verify=True, cert=None)  # type: ignore[no-untyped-call]
        asked = urlsplit(cast(str, request.url))  # as it will be: a name in Unicode is encoded now
        route = Route(
            cast(HTTPConnectionPool, pool),
            self.request_url(request, proxies) != request.path_url,
            asked.hostname or "",
            asked.port or (443 if asked.scheme == "https" else 80),
        )
        if len(self._routes) >= self.MOST_ROUTES:
            self._routes.clear()
        self._routes[origin, proxy] = route
        return route

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _direct_pools(self._guard)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = (
            self._socks_pools if proxy.lower().startswith("socks") else PROXY_POOLS
        )
        return manager
