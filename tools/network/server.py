"""HTTP/1.1 on loopback, for the servers of the sample: what they share but not what they say.

Promise: many requests to a connection; a client that is slow, silent or rude costs one thread,
each request at most the time limit; a crash is a 500 without details.
Limits: GET, HEAD and OPTIONS, IPv4, no TLS, a thread for each connection: made for one machine or a
trusted network.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from time import monotonic, time
from typing import Any, Self

from .incoming import Headers, Refused, incoming
from .reply import HTML, Reply, html_error, parse_target
from .stream import Stream

logger = logging.getLogger(__name__)

_LONGEST_IGNORED_BODY = 65_536
_METHODS = "GET, HEAD, OPTIONS"
_POLL_S = 0.05


class Handler(BaseRequestHandler, ABC):
    """One connection. Subclasses change what is said (`answer`) or how it is sent (`send`)."""

    server_version = "sample"
    timeout = 60.0
    requestline: str
    command: str
    path: str  # and what follows it, as it was sent
    headers: Headers

    @abstractmethod
    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        """What to say to a request. Path and query are decoded; an exception becomes a 500."""

    def respond(self, path: str, query: Mapping[str, str]) -> Reply:
        """The answer, whatever happens on the way to it."""
        try:
            return self.answer(path, query)
        except Exception:
            logger.exception("no answer to %r", path)
            return self.error_answer()

    def error_answer(self) -> Reply:
        return html_error(500, "Internal server error")

    def send(self, answer: Reply) -> None:
        """Head and body in one piece, within the time limit, however slowly the client reads."""
        body = b"" if self.command == "HEAD" else answer.body
        self.write("\r\n".join([*self.head(answer), "\r\n"]).encode("latin-1") + body)

    def write(self, message: bytes) -> None:
        if self.connection.gettimeout() != self.timeout:  # each change is a system call
            self.connection.settimeout(self.timeout)
        self.connection.sendall(message)

    def head(self, answer: Reply) -> list[str]:
        return [
            f"HTTP/1.1 {answer.status} {_phrase(answer.status)}",
            f"Server: {self.server_version}",
            f"Date: {_date(int(time()))}",
            f"Content-Type: {answer.content_type}",
            f"Content-Length: {len(answer.body)}",
            "Access-Control-Allow-Origin: *",
            *(f"{name}: {value}" for name, value in answer.headers.items()),
            *(["Connection: close"] if self.close_connection else []),
        ]

    def do_GET(self) -> None:
        self._skip_body()
        self.send(self.respond(*parse_target(_as_sent(self.path))))

    do_HEAD = do_GET

    def do_OPTIONS(self) -> None:
        """What the browser of a web page asks before it sends headers of its own."""
        self._skip_body()
        allowed = {"Methods": _METHODS, "Headers": "*"}
        headers = {f"Access-Control-Allow-{name}": value for name, value in allowed.items()}
        self.send(Reply(200, b"", HTML, {"Allow": _METHODS, **headers}))

    def setup(self) -> None:
        self.connection: socket.socket = self.request
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.settimeout(self.timeout)
        self.close_connection = False
        self._stream = Stream(self.connection, 0.0, beginning=b"")

    def handle(self) -> None:
        while not self.close_connection:
            self._stream.deadline = monotonic() + self.timeout
            try:
                asked = incoming(self._stream)
            except Refused as refused:
                self.command, self.close_connection = "", True
                self.send(html_error(refused.status, refused.status.description))
                return
            self.requestline, self.command, self.path = asked.line, asked.method, asked.target
            self.headers, self.close_connection = asked.headers, asked.is_last
            getattr(self, f"do_{asked.method}", self._refuse_method)()

    def body(self, length: int) -> bytes:
        """What a client sends along; less if it hangs up before."""
        pieces = []
        while length > 0 and (piece := self._stream.take(length)):
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def _refuse_method(self) -> None:
        self._skip_body()
        details = "The method is not allowed for the requested URL."
        self.send(html_error(405, details, {"Allow": _METHODS}))

    def _skip_body(self) -> None:
        """Nobody reads what a client sends along, but the next request begins behind it."""
        length = self.headers.get("Content-Length", "0")
        is_short = length.isdecimal() and len(length) < 9 and int(length) <= _LONGEST_IGNORED_BODY
        if is_short and "Transfer-Encoding" not in self.headers:
            self.body(int(length))
        else:
            self.close_connection = True


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


@lru_cache
def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase.upper()


def _as_sent(target: str) -> str:
    """Some send letters of all languages as they are."""
    return target if target.isascii() else target.encode("latin-1").decode(errors="replace")


class Serving:
    """Serves from a background thread while the `with` block lasts."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._thread = Thread(target=self.serve_forever, name=name, daemon=True)
        self._is_serving = False

    @property
    def url(self) -> str:
        return self._server.url

    def serve_from_processes(self, number: int) -> None:
        """Serve from this process and copies of it, until it is interrupted or gone."""
        children = [child for _ in range(number - 1) if (child := self._fork())]
        try:
            self.serve_forever()
        finally:
            for child in children:
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)

    def _fork(self) -> int:
        """The process number of a copy that serves; the copy does not return."""
        parent = os.getpid()
        if child := os.fork():
            return child
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._server.parent = parent
            self._server.serve_forever(_POLL_S)
        finally:
            os._exit(0)

    def serve_forever(self) -> None:
        """Serve from this thread until it is interrupted, or another thread calls `close`."""
        self._is_serving = True
        try:
            self._server.serve_forever(_POLL_S)
        finally:
            self._server.server_close()

    def close(self) -> None:
        """Stop listening and hang up on every client; a second time does nothing."""
        if self._is_serving:
            self._is_serving = False
            self._server.shutdown()  # the serving thread closes: two at it would hang up too early
        else:
            self._server.server_close()

    def __enter__(self) -> Self:
        self._is_serving = True  # even if the thread has not come to it when `close` is called
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._thread.join()


class Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        self._connections: set[Any] = set()
        self._lock = Lock()
        self.parent: int | None = None  # a copy of a server ends with the one it was made by
        super().__init__(address, handler)
        self.socket.setblocking(False)  # another process may be quicker to accept

    def shutdown(self) -> None:
        """Whoever waits for a client wakes at once, where the system tells it, and else soon."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().shutdown()

    def service_actions(self) -> None:
        if self.parent is not None and os.getppid() != self.parent:
            os._exit(0)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if isinstance(error, OSError):
            logger.debug("%s hung up: %s", client_address, error)
        else:
            logger.error("connection of %s broke", client_address, exc_info=error)
