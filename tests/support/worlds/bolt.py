"""A wire between a driver and its Neo4j that breaks at the worst moment."""

from __future__ import annotations

import select
import socket
from typing import Literal
from urllib.parse import urlsplit

from tests.support.worlds.faults import PATIENCE_S, SocketServer

COMMIT = b"\x00\x02\xb0\x12\x00\x00"  # one chunk with the message COMMIT, which has no fields

When = Literal["before", "after", "for good"]


class Wire(SocketServer):
    """Breaks when it hears `text` from the driver, `cuts` times; `cut` counts them.

    Before: the server never hears of it. After: it has done it, nobody is told. For good: it never
    hears of it, and from then on there is nobody to be reached.
    """

    scheme = "bolt"

    def __init__(self, server: str, text: bytes, when: When, cuts: int = 0) -> None:
        super().__init__()
        self._server = urlsplit(server)
        self._text = text
        self._when = when
        self.cuts = cuts
        self.cut = 0

    @property
    def url(self) -> str:
        """Not neo4j://: that driver asks the server where it is, and goes round the wire."""
        user = self._server.username or "neo4j"
        return f"{self.scheme}://{user}@127.0.0.1:{self.port}{self._server.path}"

    def serve(self, connection: socket.socket) -> None:
        address = (self._server.hostname, self._server.port or 7687)
        server = self.adopt(socket.create_connection(address, timeout=PATIENCE_S))
        try:
            self._relay(connection, server)
        finally:
            self.drop(server)

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        while True:
            for source in select.select([client, server], [], [])[0]:
                data = source.recv(1_000_000)
                if not data or (source is client and self._breaks(data, server)):
                    return
                (server if source is client else client).sendall(data)

    def _breaks(self, data: bytes, server: socket.socket) -> bool:
        if self._text not in data or self.cut >= self.cuts:
            return False
        self.cut += 1
        if self._when == "after":
            server.sendall(data)
            server.recv(1_000_000)  # its answer: it has done it
        elif self._when == "for good":
            self.go_away()
        return True
