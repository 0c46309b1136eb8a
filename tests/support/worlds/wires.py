"""TCP wires between a client and a server: one is long, one breaks, one goes dead.

Limit: a wire is made of threads of Python; where speed is measured it wants a process of its own,
`python -m tests.support.worlds.wires HOST PORT DELAY_S`; it prints its port, ends with its input.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from types import TracebackType

from tests.support.worlds.faults import PATIENCE_S, SocketServer

PIECE_BYTES = 1 << 18
UNDERWAY_BYTES = 1 << 26  # more than a fast computer sends within a long delay


class TcpWire(SocketServer):
    """Passes everything on, to the server at this address, and counts it."""

    scheme = "tcp"

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.sent = 0  # by clients, over all connections
        self.received = 0
        self._server = (host, port)

    def serve(self, connection: socket.socket) -> None:
        """Both ways at once; when one ends, the other ends too."""
        server = self.adopt(socket.create_connection(self._server, timeout=PATIENCE_S))
        server.settimeout(None)
        for each in (connection, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=self._carry, args=(server, connection, False), daemon=True)
        back.start()
        try:
            self._carry(connection, server, True)
        finally:
            back.join()
            self.drop(server)

    def _carry(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:
        """Until somebody hangs up, then both sides are told."""
        with suppress(OSError):
            self.carry(source, target, is_sent)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def carry(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:
        while data := source.recv(PIECE_BYTES):
            self.forward(data, target, is_sent)

    def forward(self, data: bytes, target: socket.socket, is_sent: bool) -> None:
        self._count(data, is_sent)
        target.sendall(data)

    def _count(self, data: bytes, is_sent: bool) -> None:
        with self._lock:
            if is_sent:
                self.sent += len(data)
            else:
                self.received += len(data)


class DelayWire(TcpWire):
    """A round trip takes `delay_s` longer, and as much as ever is carried meanwhile.

    Limit: TCP itself feels no delay; what feels it is a protocol that waits for answers.
    """

    def __init__(self, host: str, port: int, delay_s: float) -> None:
        super().__init__(host, port)
        self._half_s = delay_s / 2

    def carry(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:
        underway = _Underway()
        arriving = threading.Thread(target=self._deliver, args=(underway, target), daemon=True)
        arriving.start()
        try:
            while data := source.recv(PIECE_BYTES):
                self._count(data, is_sent)
                underway.add(data, time.monotonic() + self._half_s)
        finally:
            underway.add(b"", time.monotonic() + self._half_s)
            arriving.join()

    def _deliver(self, underway: _Underway, target: socket.socket) -> None:
        with suppress(OSError):
            while data := underway.next():
                target.sendall(data)
        underway.refuse()


class _Underway:
    """Pieces with the time when they are due; nothing is the end."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[float, bytes]] = deque()
        self._bytes = 0
        self._is_over = False
        self._changed = threading.Condition()

    def add(self, data: bytes, due: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < UNDERWAY_BYTES or self._is_over)
            self._pieces.append((due, data))
            self._bytes += len(data)
            self._changed.notify_all()

    def next(self) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._pieces))
            due, data = self._pieces[0]
            while (left := due - time.monotonic()) > 0:
                self._changed.wait(left)
            self._pieces.popleft()
            self._bytes -= len(data)
            self._changed.notify_all()
            return data

    def refuse(self) -> None:
        """Nobody takes any more: whoever adds need not wait."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class CutWire(TcpWire):
    """Hangs up on both when a connection has carried so many bytes from its client: `cuts` times,
    which `cut` counts, and then no more."""

    def __init__(self, host: str, port: int, after_bytes: int, cuts: int = 1) -> None:
        super().__init__(host, port)
        self.cut = 0
        self.cuts = cuts
        self._after = after_bytes

    def carry(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:
        left = self._after
        while data := source.recv(PIECE_BYTES):
            if is_sent and len(data) >= left and self._breaks():
                self.forward(data[:left], target, is_sent)
                return
            left -= len(data)
            self.forward(data, target, is_sent)

    def _breaks(self) -> bool:
        with self._lock:
            is_due = self.cut < self.cuts
            self.cut += is_due
            return is_due


class StallWire(TcpWire):
    """Carries nothing in either direction once its clients have sent so many bytes in all, until
    `release`. Connections stay open, new ones are accepted. `stalled` is set when it begins."""

    def __init__(self, host: str, port: int, after_bytes: int) -> None:
        super().__init__(host, port)
        self.stalled = threading.Event()
        self._released = threading.Event()
        self._after = after_bytes

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
        super().__exit__(kind, error, traceback)

    def release(self) -> None:
        self._released.set()

    def carry(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:
        while data := source.recv(PIECE_BYTES):
            left = max(self._after - self.sent, 0)
            if is_sent and len(data) > left and not self._released.is_set():
                self.stalled.set()  # before an answer to these bytes can be on its way back
                self.forward(data[:left], target, is_sent)
                data = data[left:]
            if self.stalled.is_set():
                self._released.wait()
            self.forward(data, target, is_sent)


def main(host: str, port: str, delay_s: str) -> None:
    with DelayWire(host, int(port), float(delay_s)) as wire:
        print(wire.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
