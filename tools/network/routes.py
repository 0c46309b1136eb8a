"""How a host is reached: direct or through a proxy, over connections that are kept and used again.

Promise: a direct connection is made to an address that the guard has checked; the name in the
request and in the certificate is still that of the host. However many hosts are asked, only so many
keep connections open that nobody uses.
"""

from __future__ import annotations

import resource
import socket
from contextlib import suppress
from queue import Empty, Full
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

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

from .deadline import DeadlineResponse
from .guard import Guard, connect, origin_of

PORTS = {"http": 80, "https": 443}
LEAST_ROUTES, MOST_ROUTES = 32, 1024
MOST_PROXIES = 64  # whose connections are kept


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


class Idle:
    """Connections that nobody uses now, the last one first. Nobody ever waits for one, so that it
    does without the locks of a queue."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[Any] = []

    def get(self, block: bool = False, timeout: float | None = None) -> Any:
        try:
            return self._kept.pop()
        except IndexError:
            raise Empty from None

    def put(self, item: Any, block: bool = False) -> None:
        if len(self._kept) >= self._most:
            raise Full
        self._kept.append(item)

    def qsize(self) -> int:
        return len(self._kept)


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
        scheme: type(f"Deadline{kind.__name__}", (kind,), {"ConnectionCls": of, "QueueCls": Idle})
        for scheme, kind, of in (("http", pool, connection), ("https", tls_pool, tls_connection))
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
    is_tunnelled: bool  # through an HTTP proxy
    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The host as it is asked for."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == PORTS[self.scheme] else f"{name}:{self.port}"


class DeadlineAdapter(HTTPAdapter):
    """requests' way to the network, direct or through a proxy, over such connections.

    Connections, TLS and proxies are those of requests, but not what is said over them: its request
    and response objects cost several times the exchange itself. `hosts` is how many are asked by
    turns: so many keep their connections, as far as the system's limit of open files lets them.
    """

    def __init__(self, connections: int, guard: Guard, hosts: int = 0) -> None:
        self._guard = guard
        self._socks_pools = _socks_pools(guard)
        self._most_routes = _most_routes(hosts)
        self._routes: dict[tuple[str, str | None], Route] = {}
        # More than the routes, so that none is stale.
        super().__init__(self._most_routes * 5 // 4, connections, max_retries=0)

    def route(self, url: str, proxy: str | None) -> Route:
        """How this address is reached. GiveUp if it must not be, by the proxy."""
        origin = "://".join(origin_of(url))
        route = self._routes.get((origin, proxy)) or self._find_route(origin, proxy)
        if proxy:
            self._guard.require_public(route.host, route.port)
        return route

    def forget(self, url: str, proxy: str | None) -> None:
        """Its pool was closed for others meanwhile."""
        self._routes.pop(("://".join(origin_of(url)), proxy), None)

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
            getattr(pool, "proxy", None) is not None and asked.scheme == "https",
            asked.scheme,
            asked.hostname or "",
            asked.port or PORTS[asked.scheme],
        )
        if len(self._routes) >= self._most_routes:
            self._routes.clear()
        self._routes[origin, proxy] = route
        return route

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _direct_pools(self._guard)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        self._leave_old_proxies(proxy)
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = (
            self._socks_pools if proxy.lower().startswith("socks") else PROXY_POOLS
        )
        return manager

    def _leave_old_proxies(self, proxy: str) -> None:
        """Where proxies are fetched there are new ones for ever."""
        if proxy not in self.proxy_manager and len(self.proxy_manager) >= MOST_PROXIES:
            with suppress(StopIteration, KeyError):  # another thread was quicker
                old = next(iter(self.proxy_manager))
                for key in [each for each in list(self._routes) if each[1] == old]:
                    self._routes.pop(key, None)
                self.proxy_manager.pop(old).clear()


def _most_routes(hosts: int) -> int:
    """A quarter of the files that may be open: others need some, and a host may have several."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_ROUTES if files == resource.RLIM_INFINITY else min(files // 4, MOST_ROUTES)
    return max(LEAST_ROUTES, min(hosts, most))
