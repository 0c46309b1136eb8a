"""A web server that sends exactly the bytes a test wants, and keeps exactly those it got."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Callable, Sequence

from tests.support.worlds.faults import SocketServer

Act = Callable[[socket.socket], object]
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class RawServer(SocketServer):
    """`answers` are for one request after the other, the last for ever; b"" hangs up."""

    def __init__(self, *answers: bytes | Act, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.answers: Sequence[bytes | Act] = answers
        self.got: list[bytes] = []
        self._tls = tls
        self.scheme = "https" if tls else "http"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            plain, connection = connection, self._tls.wrap_socket(connection, server_side=True)
            self.adopt(connection)
            self.drop(plain)
        try:
            while request := _read(connection):
                with self._lock:
                    answer = self.answers[min(len(self.got), len(self.answers) - 1)]
                    self.got.append(request)
                if not answer:
                    return
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                else:
                    answer(connection)
                if isinstance(answer, bytes) and not _keeps_open(answer):
                    return
        finally:
            self.drop(connection)


def _read(connection: socket.socket) -> bytes:
    """A request with its body; nothing if there is none."""
    got = b""
    with contextlib.suppress(OSError):
        while b"\r\n\r\n" not in got:
            if not (piece := connection.recv(65536)):
                return b""
            got += piece
        match = LENGTH.search(got.partition(b"\r\n\r\n")[0])
        whole = got.index(b"\r\n\r\n") + 4 + (int(match[1]) if match else 0)
        while len(got) < whole and (piece := connection.recv(65536)):
            got += piece
    return got


def _keeps_open(answer: bytes) -> bool:
    """Can the client tell where it ends? Else the end of the connection must."""
    head = answer.partition(b"\r\n\r\n")[0].lower()
    return b"content-length" in head or b"chunked" in head or b" 204 " in head or b" 304 " in head


def said(status: int = 200, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
