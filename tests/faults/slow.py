"""Servers that hold on to whoever asks them."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from tests.support.worlds.conceptnet import Asked, Proceed, World
from tests.support.worlds.faults import SocketServer, answer, read_head
from tests.support.worlds.media import MediaWorld
from tools.network.reply import Reply

DRIP_EVERY_S = 0.05


class Dribbling(SocketServer):
    """The pages of a world. The first ones come whole, the others a byte at a time, for ever."""

    def __init__(self, world: World, whole: int) -> None:
        super().__init__()
        self._world = world
        self._whole = whole
        self.asked = 0
        self.dribbling = 0

    def serve(self, connection: socket.socket) -> None:
        while (request := read_head(connection)) is not None:
            with self._lock:
                self.asked += 1
                is_whole = self.asked <= self._whole
                self.dribbling += not is_whole
            with urllib.request.urlopen(self._world.url + request.target) as page:
                body = page.read()
            if not is_whole:
                self._drip(connection, answer(200, body, "application/json"))
            connection.sendall(answer(200, body, "application/json"))

    def _drip(self, connection: socket.socket, text: bytes) -> None:
        headers, _, body = text.partition(b"\r\n\r\n")
        connection.sendall(headers + b"\r\n\r\n")
        for _ in range(10 * len(body)):
            connection.sendall(b" ")
            if self.stopping.wait(DRIP_EVERY_S):
                return


class Held:
    """A fault that keeps an answer back until the test lets it go."""

    def __init__(self) -> None:
        self.asked = Event()
        self._released = Event()

    def __call__(self, asked: Asked, proceed: Proceed) -> Reply:
        self.asked.set()
        self._released.wait()
        return proceed(asked)

    def release(self) -> None:
        self._released.set()


@contextmanager
def held() -> Iterator[Held]:
    fault = Held()
    try:
        yield fault
    finally:
        fault.release()


@contextmanager
def media_held_after(books: Path, seconds: float = 120.0) -> Iterator[tuple[MediaWorld, Event]]:
    """The first media come; when they stand in these books the others wait for the event."""
    may_go_on = Event()

    def hold(_name: str, _paths: list[str]) -> bool:
        if books.exists():
            may_go_on.wait(seconds)
        return False

    with MediaWorld(hold) as media:
        try:
            yield media, may_go_on
        finally:
            may_go_on.set()
