"""Sockets that are read until a moment in time.

Promise: a timeout holds for the whole of what is read, however slowly the bytes drip; a socket's
own timeout starts anew with each of them.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Mapping
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

TOLERANCE_S = 0.05


class DeadlineReader(io.RawIOBase):
    """Reads a socket until a moment in time, however slowly the bytes drip."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self.deadline = time.monotonic() + (sock.gettimeout() or 0.0)
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to arrive")
        if left < (self._sock.gettimeout() or 0.0) - TOLERANCE_S:  # each change is a system call
            self._sock.settimeout(left)
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class DeadlineResponse(http.client.HTTPResponse):
    """The read timeout holds for the whole answer, headers and body, not for each read of it."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._reader = DeadlineReader(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        if self._reader.ended:  # http.client takes the end of the connection for an empty line
            raise ConnectionError("cut off within the headers")


def _pools_with_deadline(
    plain: type[HTTPConnection],
    tls: type[HTTPSConnection],
    pool: type[HTTPConnectionPool],
    tls_pool: type[HTTPSConnectionPool],
) -> dict[str, type[HTTPConnectionPool]]:
    """The same connection pools, whose connections read with a deadline."""
    response = {"response_class": DeadlineResponse}
    connection = type(f"Deadline{plain.__name__}", (plain,), response)
    tls_connection = type(f"Deadline{tls.__name__}", (tls,), response)
    return {
        "http": type(f"Deadline{pool.__name__}", (pool,), {"ConnectionCls": connection}),
        "https": type(
            f"Deadline{tls_pool.__name__}", (tls_pool,), {"ConnectionCls": tls_connection}
        ),
    }


DIRECT_POOLS = _pools_with_deadline(
    HTTPConnection, HTTPSConnection, HTTPConnectionPool, HTTPSConnectionPool
)
SOCKS_POOLS = _pools_with_deadline(
    SOCKSConnection, SOCKSHTTPSConnection, SOCKSHTTPConnectionPool, SOCKSHTTPSConnectionPool
)


class Route(NamedTuple):
    """How a host is reached."""

    pool: HTTPConnectionPool
    asks_for_whole_url: bool  # as a plain HTTP proxy wants it


class DeadlineAdapter(HTTPAdapter):
    """requests' way to the network, direct or through a proxy, over such connections.

    `get` takes connections, TLS and proxies from requests, but not its request and response
    objects: making those costs more than the exchange itself.
    """

    MOST_ROUTES = 8  # fewer than the pools that are kept open, so that a route is never stale

    def __init__(self, connections: int) -> None:
        self._routes: dict[tuple[str, str | None], Route] = {}
        super().__init__(pool_maxsize=connections, max_retries=0)

    def get(
        self, url: str, headers: Mapping[str, str], timeout: urllib3.Timeout, proxy: str | None
    ) -> urllib3.BaseHTTPResponse:
        """Ask; the answer's body is still to be read."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        route = self._routes.get((origin, proxy)) or self._find_route(origin, proxy)
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
        route = Route(
            cast(HTTPConnectionPool, pool), self.request_url(request, proxies) != request.path_url
        )
        if len(self._routes) >= self.MOST_ROUTES:
            self._routes.clear()
        self._routes[origin, proxy] = route
        return route

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = DIRECT_POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = (
            SOCKS_POOLS if proxy.lower().startswith("socks") else DIRECT_POOLS
        )
        return manager
