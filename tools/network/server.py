"""HTTP/1.1 on loopback, for the servers of the sample: what they share but not what they say.

Promise: many requests to a connection; a client that is slow, silent or rude costs one thread,
each request at most the time limit; a crash is a 500 without details.
Limits: GET, HEAD and OPTIONS, IPv4, no TLS, a thread for each connection: made for one machine or a
trusted network.
"""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Lock, Thread
from time import monotonic, time
from typing import Any, Self

from .deadline import DeadlineReader
from .reply import HTML, Reply, html_error, parse_target

logger = logging.getLogger(__name__)

_LONGEST_IGNORED_BODY = 65_536
_LONGEST_LINE = 65_536
_MOST_HEADERS = 100
_METHODS = "GET, HEAD, OPTIONS"
_PLAIN = re.compile(r"(GET|HEAD) (/[^ ]*) HTTP/1\.1")
_POLL_S = 0.05


class Handler(BaseHTTPRequestHandler, ABC):
    """One connection. Subclasses change what is said (`answer`) or how it is sent (`send`)."""

    protocol_version = "HTTP/1.1"
    server_version = "sample"
    disable_nagle_algorithm = True
    timeout = 60.0
    raw_requestline: bytes

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
        self.connection.settimeout(self.timeout)
        self.wfile.write("\r\n".join([*self.head(answer), "\r\n"]).encode("latin-1") + body)

    def head(self, answer: Reply) -> list[str]:
        return [
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase.upper()}",
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
        # self.path has lost leading slashes, and those deserve a redirect.
        target = self.requestline.split()[1].encode("latin-1").decode(errors="replace")
        self.send(self.respond(*parse_target(target)))

    do_HEAD = do_GET

    def do_OPTIONS(self) -> None:
        """What the browser of a web page asks before it sends headers of its own."""
        self._skip_body()
        allowed = {"Methods": _METHODS, "Headers": "*"}
        headers = {f"Access-Control-Allow-{name}": value for name, value in allowed.items()}
        self.send(Reply(200, b"", HTML, {"Allow": _METHODS, **headers}))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The refusals of the standard library, in the server's own words."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._skip_body()
            details = "The method is not allowed for the requested URL."
            self.send(html_error(405, details, {"Allow": _METHODS}))
        else:
            self.close_connection = True
            self.send(html_error(code, HTTPStatus(code).description))

    def setup(self) -> None:
        super().setup()
        self._incoming = DeadlineReader(self.rfile.detach(), self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def parse_request(self) -> bool:
        """What most clients send is read without the standard library's parser for mail."""
        line = str(self.raw_requestline, "latin-1").rstrip("\r\n")
        if not (plain := _PLAIN.fullmatch(line)):
            return super().parse_request()
        self.requestline, self.request_version = line, "HTTP/1.1"
        self.command, self.path = plain[1], plain[2]
        try:
            self.headers = Headers.read(self.rfile)  # type: ignore[assignment]
        except ValueError as error:
            self.send_error(431 if str(error) == "long" else 400)
            return False
        self.close_connection = self.headers.get("Connection", "").lower() == "close"
        return True

    def handle_one_request(self) -> None:
        self._incoming.deadline = monotonic() + self.timeout
        super().handle_one_request()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug(format, *args)

    def _skip_body(self) -> None:
        """Nobody reads what a client sends along, but the next request begins behind it."""
        length = self.headers.get("Content-Length", "0")
        is_short = length.isdecimal() and len(length) < 9 and int(length) <= _LONGEST_IGNORED_BODY
        if is_short and "Transfer-Encoding" not in self.headers:
            self.rfile.read(int(length))
        else:
            self.close_connection = True


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


class Headers(dict[str, str]):
    """What a client sends ahead of its request, by lower-case name; the first of a name counts."""

    @classmethod
    def read(cls, lines: io.BufferedIOBase) -> Self:
        """Up to the empty line; ValueError for what is no header, or too long."""
        headers = cls()
        for _ in range(_MOST_HEADERS):
            line = lines.readline(_LONGEST_LINE + 1)
            if len(line) > _LONGEST_LINE:
                break
            if line in (b"\r\n", b"\n", b""):
                return headers
            name, colon, value = str(line, "latin-1").partition(":")
            if not colon or not name or name != name.strip():
                raise ValueError("no header")
            headers.setdefault(name.lower(), value.strip())
        raise ValueError("long")

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())


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


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        self._connections: set[Any] = set()
        self._lock = Lock()
        self.parent: int | None = None  # a copy of a server ends with the one it was made by
        super().__init__(address, handler)
        self.socket.setblocking(False)  # another process may be quicker to accept

    def service_actions(self) -> None:
        if self.parent is not None and os.getppid() != self.parent:
            os._exit(0)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def server_bind(self) -> None:
        # HTTPServer asks the DNS for the name of the host, and nobody needs it.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

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
