"""Two tiny proxies on the loopback, each with counters and a switch for how it misbehaves."""

from __future__ import annotations

import base64
import io
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlsplit

from tests.support.worlds.faults import HTML, PATIENCE_S, SocketServer, answer, read_head

Mode = Literal["works", "tells", "dead", "407", "own page"]


class Unreached(Exception):
    def __init__(self, refusal: bytes) -> None:
        super().__init__()
        self.refusal = refusal


class Proxy(SocketServer):
    """A target that cannot be reached makes it hang up, or, if it `tells`, say so.

    `asked` counts requests and tunnels, `outgoing` holds the addresses targets see, `fetched`
    the addresses of what it was asked for without a tunnel."""

    refusal = b""

    def __init__(self, user: str = "", password: str = "", mode: Mode = "works") -> None:
        super().__init__()
        self.mode = mode
        self.asked = 0
        self.tunnels = 0
        self.outgoing: set[tuple[str, int]] = set()
        self.fetched: list[str] = []
        self._user = user
        self._password = password

    @property
    def url_with_password(self) -> str:
        return self.url.replace("//", f"//{self._user}:{self._password}@")

    def serve(self, connection: socket.socket) -> None:
        if self.mode == "dead":
            self.asked += 1
            return
        try:
            self.converse(connection)
        except Unreached as error:
            connection.sendall(error.refusal)

    def converse(self, connection: socket.socket) -> None:
        raise NotImplementedError

    @contextmanager
    def reach(self, host: str, port: int) -> Iterator[socket.socket]:
        try:
            target = socket.create_connection((host, port), timeout=PATIENCE_S)
        except OSError:
            raise Unreached(self.refusal if self.mode == "tells" else b"") from None
        self.outgoing.add(target.getsockname())
        try:
            yield self.adopt(target)
        finally:
            self.drop(target)

    def relay(self, one: socket.socket, other: socket.socket) -> None:
        """Copy both ways until either side ends."""
        while True:
            for source in select.select([one, other], [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                self.read_raw_into(data, other if source is one else one, source is one)

    def read_raw_into(self, data: bytes, target: socket.socket, is_sent: bool) -> None:
        """`is_sent`: by the client."""
        target.sendall(data)


class HttpProxy(Proxy):
    refusal = answer(502)

    def converse(self, connection: socket.socket) -> None:
        request = read_head(connection)
        if request is None:
            return
        self.asked += 1
        if self.mode == "407" or not self._admits(request.headers.get("proxy-authorization", "")):
            connection.sendall(answer(407, Proxy_Authenticate="Basic", Connection="close"))
        elif self.mode == "own page":
            connection.sendall(answer(200, HTML, "text/html", Connection="close"))
        elif request.method == "CONNECT":
            self._tunnel(connection, request.target)
        else:
            self._forward(connection, request.target, request.headers)

    def _admits(self, credentials: str) -> bool:
        pair = f"{self._user}:{self._password}".encode()
        return not self._user or credentials == "Basic " + base64.b64encode(pair).decode()

    def _tunnel(self, connection: socket.socket, target: str) -> None:
        self.tunnels += 1
        host, _, port = target.rpartition(":")
        with self.reach(host, int(port)) as out:
            connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            self.relay(connection, out)

    def _forward(self, connection: socket.socket, target: str, headers: dict[str, str]) -> None:
        """It keeps the credentials that are for it; what else a client sends, the target sees."""
        self.fetched.append(target)
        parts = urlsplit(target)
        if self._user:
            headers.pop("proxy-authorization", None)
        lines = [f"{name}: {value}" for name, value in (headers | {"connection": "close"}).items()]
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        with self.reach(parts.hostname or "", parts.port or 80) as out:
            out.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode("latin-1"))
            with out.makefile("rb") as reader:
                self._pass_back(reader, connection)

    def _pass_back(self, reader: io.BufferedReader, connection: socket.socket) -> None:
        """Interim answers as they are; the final one ends the connection."""
        line = reader.readline()
        while line.startswith(b"HTTP/1.1 1"):
            while line.strip():
                connection.sendall(line)
                line = reader.readline()
            connection.sendall(line)
            line = reader.readline()
        connection.sendall(line + b"Connection: close\r\n")
        while piece := reader.read1():
            connection.sendall(piece)


class Socks5Proxy(Proxy):
    scheme = "socks5h"
    refusal = b"\x05\x05\x00\x01" + bytes(6)

    def converse(self, connection: socket.socket) -> None:
        self.asked += 1
        methods = self._read(connection, self._read(connection, 2)[1])
        wanted = 2 if self._user else 0
        if wanted not in methods:
            connection.sendall(b"\x05\xff")
            return
        connection.sendall(bytes([5, wanted]))
        if not self._user or self._is_welcome(connection):
            self._connect(connection)

    def _is_welcome(self, connection: socket.socket) -> bool:
        user = self._read(connection, self._read(connection, 2)[1])
        password = self._read(connection, self._read(connection, 1)[0])
        welcome = (user, password) == (self._user.encode(), self._password.encode())
        connection.sendall(bytes([1, 0 if welcome else 1]))
        return welcome

    def _connect(self, connection: socket.socket) -> None:
        kind = self._read(connection, 4)[3]
        if kind == 3:
            host = self._read(connection, self._read(connection, 1)[0]).decode()
        else:
            host = socket.inet_ntoa(self._read(connection, 4))
        port = int.from_bytes(self._read(connection, 2), "big")
        with self.reach(host, port) as out:
            self.tunnels += 1
            connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
            self.relay(connection, out)

    def _read(self, connection: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = connection.recv(count - len(data))
            if not piece:
                raise ConnectionError("hung up")
            data += piece
        return data
