"""One request and its answer over a connection, as bytes.

Promise: all of it takes no longer than it may, connecting included. A connection is used again only
if nothing can be left on it.
"""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple, cast

from urllib3.connection import HTTPConnection

from .deadline import TOLERANCE_S, DeadlineResponse
from .head import Fields
from .large_answers import LARGE, Turn
from .routes import Route
from .trouble import NETWORK_ERRORS, NO_ADDRESSES, NoUse, Why

PIECE = 2**20
SENT_AT_ONCE = 2**16
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # to be asked twice
HUNG_UP = (ConnectionResetError, http.client.RemoteDisconnected)


class NotConnected(Exception):
    """Nobody was asked; why is its cause."""


class Patience(NamedTuple):
    """Seconds to connect, seconds in all, and the most bytes of a body; `turn` is that of whoever
    goes on working with a large one."""

    connect: float
    whole: float
    most: int
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    status: int
    reason: str
    version: str
    headers: Fields
    payload: bytes
    ip: str


class Wire:
    """To one host, for one request."""

    def __init__(self, route: Route, patience: Patience) -> None:
        self._route = route
        self._patience = patience
        self._deadline = time.monotonic() + patience.whole
        self._ip = ""

    def ask(self, method: str, request: bytes) -> Heard:
        connection = cast(HTTPConnection, self._route.pool._get_conn())
        try:
            with self._begun(connection, method, request) as response:
                heard = self._read(response)
        except BaseException:
            connection.close()  # half an answer: it is of no further use
            raise
        else:
            if response.will_close:
                connection.close()
            return heard
        finally:
            self._route.pool._put_conn(connection)

    def _begun(self, connection: HTTPConnection, method: str, request: bytes) -> DeadlineResponse:
        """Who kept a connection may hang up at the moment it is used again. That is no answer of
        his: he is asked over a new one."""
        if not connection.is_closed and method in SAFE:
            try:
                return self._attempt(connection, method, request)
            except HUNG_UP:
                connection.close()
        return self._attempt(connection, method, request)

    def _attempt(self, connection: HTTPConnection, method: str, request: bytes) -> DeadlineResponse:
        if connection.is_closed:
            self._connect(connection)
        sock = cast(socket.socket, connection.sock)
        self._ip = str(sock.getpeername()[0]).partition("%")[0]  # later they may be gone
        self._send(sock, request)
        self._hurry(sock)
        response = DeadlineResponse(sock, method=method)
        try:
            response.begin()
        except BaseException:
            response.close()
            raise
        return response

    def _connect(self, connection: HTTPConnection) -> None:
        connection.timeout = min(self._patience.connect, self._left())
        try:
            if self._route.is_tunnelled:
                self._route.pool._prepare_proxy(connection)
            else:
                connection.connect()
        except NO_ADDRESSES:
            raise
        except NETWORK_ERRORS as error:
            raise NotConnected from error

    def _send(self, sock: socket.socket, request: bytes) -> None:
        """Who hangs up before he has read all of it may have said why."""
        with suppress(BrokenPipeError):
            for start in range(0, len(request), SENT_AT_ONCE):
                self._hurry(sock)
                sock.sendall(request[start : start + SENT_AT_ONCE])

    def _hurry(self, sock: socket.socket) -> None:
        """Each change is a system call."""
        left = self._left()
        if abs(left - (sock.gettimeout() or 0.0)) > TOLERANCE_S:
            sock.settimeout(left)

    def _read(self, response: DeadlineResponse) -> Heard:
        payload = self._payload(response)
        version = f"HTTP/1.{response.version - 10}"
        return Heard(response.status, response.reason, version, response.fields, payload, self._ip)

    def _payload(self, response: DeadlineResponse) -> bytes:
        most, whole = self._patience.most, BytesIO()
        if (response.length or 0) > most:
            raise _too_large(most)
        if (response.length or 0) <= LARGE:
            _append(whole, response, min(LARGE, most) + 1)
        if (response.length or 0) > LARGE or whole.tell() > LARGE:
            with (
                Turn() if self._patience.turn is None else nullcontext(self._patience.turn) as turn
            ):
                turn.take(self._left())
                _append(whole, response, most + 1)
        if whole.tell() > most:
            raise _too_large(most)
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        return whole.getvalue()

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long")
        return left


def _append(whole: BytesIO, response: DeadlineResponse, until: int) -> None:
    """Of the body as it was sent, but for the marks between its chunks, what is still to come."""
    while (left := until - whole.tell()) > 0 and (piece := response.read(min(left, PIECE))):
        whole.write(piece)


def _too_large(most: int) -> NoUse:
    return NoUse(f"the answer is larger than {most:,} bytes", Why.LARGE)
