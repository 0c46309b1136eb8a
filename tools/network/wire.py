"""One request and its answer over a connection, as bytes.

Promise: all of it takes no longer than it may, connecting included. A connection is used again only
if nothing can be left on it.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from urllib3.connection import HTTPConnection
from urllib3.exceptions import ClosedPoolError

from .arrival import Arrival
from .large_answers import Turn
from .request import Request, head_of
from .routes import DeadlineAdapter, Route
from .stream import TOLERANCE_S, Stream
from .trouble import NETWORK_ERRORS, NO_ADDRESSES

MOST_STALE = 3
SENT_AT_ONCE = 2**16
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # to be asked twice
HUNG_UP = (
    ConnectionResetError,
    http.client.RemoteDisconnected,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)


class NotConnected(Exception):
    """Nobody was asked; why is its cause."""


class Patience(NamedTuple):
    """Seconds to connect, seconds in all, and the most bytes of a body; `turn` is that of whoever
    goes on working with a large one."""

    connect: float
    whole: float
    most: int
    turn: Turn | None = None


Ready = Callable[[], object]
"""Called when all is ready but the request itself, which is written when it returns."""


class Wire:
    """To one host, for one request. It ends with whoever entered it: a connection from which all of
    the answer was taken is kept. `head` is what was sent before a body, but for what was meant for
    a proxy alone; `ip` whose answer it is."""

    head = b""

    def __init__(self, route: Route, patience: Patience) -> None:
        self._route = route
        self._connection = cast(HTTPConnection, route.pool._get_conn())
        self._patience = patience
        self._deadline = time.monotonic() + patience.whole
        self._arrival: Arrival | None = None
        self._has_heard = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        try:
            if kind is not None or self._arrival is None or not self._arrival.leaves_nothing:
                self._connection.close()  # half an answer: it is of no further use
        finally:
            self._route.pool._put_conn(self._connection)

    @property
    def ip(self) -> str:
        return str(cast(Any, self._connection).ip)  # noted while it was there

    @property
    def left(self) -> float:
        """Seconds; TimeoutError if there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long")
        return left

    def ask(self, request: Request, ready: Ready | None = None) -> Arrival:
        """Who kept a connection may hang up at the moment it is used again. That is no answer of
        his: he is asked over a new one."""
        self.head = head_of(request, self._route.authority)
        sent = _for_proxy(self.head, self._route) if self._route.asks_for_whole_url else self.head
        sent += request.body or b""
        if not self._connection.is_closed and request.method in SAFE:
            try:
                return self._attempt(request.method, sent, ready)
            except HUNG_UP:
                if self._has_heard:
                    raise
                self._connection.close()
        return self._attempt(request.method, sent, ready)

    def _attempt(self, method: str, request: bytes, ready: Ready | None) -> Arrival:
        if self._connection.is_closed:
            self._connect()
        if ready is not None:
            begun = time.monotonic()
            ready()
            self._deadline += time.monotonic() - begun  # whoever made us wait was not the host
        sock = cast(socket.socket, self._connection.sock)
        self._send(sock, request)
        stream = Stream(sock, self._deadline)
        try:
            self._arrival = Arrival(stream, method)
        finally:
            self._has_heard = not stream.is_silent
        return self._arrival

    def _connect(self) -> None:
        self._connection.timeout = min(self._patience.connect, self.left)
        try:
            if self._route.is_tunnelled:
                self._route.pool._prepare_proxy(self._connection)
            else:
                self._connection.connect()
            address = cast(socket.socket, self._connection.sock).getpeername()
            cast(Any, self._connection).ip = str(address[0]).partition("%")[0]
        except NO_ADDRESSES:
            raise
        except NETWORK_ERRORS as error:
            raise NotConnected from error

    def _send(self, sock: socket.socket, request: bytes) -> None:
        """Who hangs up before he has read all of it may have said why."""
        with suppress(BrokenPipeError):
            for start in range(0, len(request), SENT_AT_ONCE):
                left = self.left
                if abs(left - (sock.gettimeout() or 0.0)) > TOLERANCE_S:  # it is a system call
                    sock.settimeout(left)
                sock.sendall(request[start : start + SENT_AT_ONCE])


def wire_to(adapter: DeadlineAdapter, url: str, proxy: str | None, patience: Patience) -> Wire:
    """A way to the host of this address. GiveUp if it must not be asked, by the proxy."""
    for _ in range(MOST_STALE):
        try:
            return Wire(adapter.route(url, proxy), patience)
        except ClosedPoolError:  # others have asked so many hosts since
            adapter.forget(url, proxy)
    raise ConnectionError("too many hosts at once")


def _for_proxy(head: bytes, route: Route) -> bytes:
    """A plain HTTP proxy wants the whole address, and gets what is meant for it alone."""
    method, _, rest = head.partition(b" ")
    own = "".join(f"{name}: {value}\r\n" for name, value in route.pool.proxy_headers.items())
    origin = f"{route.scheme}://{route.authority}".encode()
    return method + b" " + origin + rest[: -len(b"\r\n")] + own.encode("latin-1") + b"\r\n"
