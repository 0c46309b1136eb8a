"""A wire between a driver and its Neo4j that breaks at the worst moment: during a commit."""

from __future__ import annotations

import select
import socket
from typing import Literal

from tests.worlds.faults import SocketServer

COMMIT = b"\x00\x02\xb0\x12\x00\x00"  # one chunk with the message COMMIT, which has no fields


class CommitCutter(SocketServer):
    """Breaks as many commits as `cuts` is set to; `cut` counts them.

    Before: the server never hears of the commit. After: it has committed, nobody is told.
    """

    scheme = "bolt"

    def __init__(self, port: int, when: Literal["before", "after"]) -> None:
        super().__init__()
        self._target = port
        self._when = when
        self.cuts = 0
        self.cut = 0

    def serve(self, connection: socket.socket) -> None:
        server = self.adopt(socket.create_connection(("127.0.0.1", self._target), timeout=5))
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
        if COMMIT not in data or self.cut >= self.cuts:
            return False
        self.cut += 1
        if self._when == "after":
            server.sendall(data)
            server.recv(1_000_000)  # its answer: it has committed
        return True
