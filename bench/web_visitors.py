"""Whoever looks at a page while it is measured: windows that stay open, many who ask at once, and
some who take nothing of what they asked for. None of them fails in silence."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from threading import Event, Thread
from typing import NamedTuple, Protocol

STREAMS, WINDOWS, BURST, LAZY = 20, 2, 500, 10
CURVES_S = 2.0  # so often a window asks for them
LATE_S = 10.0  # a part of a page changes every second while a harvest runs
PATIENCE_S = 60.0
LARGE = "/static/vendor/cytoscape.min.js"


class Place(NamedTuple):
    host: str
    port: int
    token: str

    def question(self, path: str) -> bytes:
        head = f"Host: {self.host}:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
        return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()

    def connected(self, taken_at_once: int = 65_536) -> socket.socket:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, taken_at_once)
        made.settimeout(PATIENCE_S)
        made.connect((self.host, self.port))
        return made


def place_of(address: str) -> Place:
    place, _, token = address.partition("/?token=")
    host, _, port = place.removeprefix("http://").partition(":")
    return Place(host, int(port), token)


class Visitor(Protocol):
    def check(self) -> None:
        """That it saw what it came for, to the end."""


class Stream:
    """A live part of a page."""

    def __init__(self, place: Place, stack: ExitStack) -> None:
        self._socket = stack.enter_context(place.connected())
        self._socket.sendall(place.question("/live/overview"))
        self._status, self._heard = 0, 0.0
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            self._status = status_from(self._socket)
            while self._socket.recv(65_536):
                self._heard = time.monotonic()

    def check(self) -> None:
        assert self._status == 200, f"a stream was answered {self._status}"
        silent = time.monotonic() - self._heard
        assert silent < LATE_S, f"a stream has said nothing for {silent:.0f} s"


class Window:
    """The curves of a page, as its script asks for them."""

    def __init__(self, place: Place, stack: ExitStack) -> None:
        self._place, self._is_over, self._answers = place, Event(), list[int]()
        stack.callback(self._is_over.set)
        Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        while not self._is_over.wait(CURVES_S):
            self._answers += at_once(self._place, "/api/curves", 1)

    def check(self) -> None:
        assert self._answers, "a window got no curves"
        assert {*self._answers} == {200}, f"curves were answered {self._answers}"


class Lazy:
    """Asks for much and takes nothing of it, so that it is dropped."""

    def __init__(self, place: Place, stack: ExitStack) -> None:
        made = stack.enter_context(place.connected(4096))
        made.sendall(place.question(LARGE) * 20)

    def check(self) -> None: ...


def visitors(address: str, stack: ExitStack) -> Sequence[Visitor]:
    """All of them are there when this ends, and those who asked at once have their answers."""
    place = place_of(address)
    found: list[Visitor] = [Stream(place, stack) for _ in range(STREAMS)]
    found += [Window(place, stack) for _ in range(WINDOWS)]
    found += [Lazy(place, stack) for _ in range(LAZY)]
    codes = at_once(place, "/api/status", BURST)
    assert {*codes} <= {200, 503} and codes.count(200) > BURST / 2, codes
    return found


def at_once(place: Place, path: str, number: int) -> list[int]:
    """What so many are answered who have all asked before one is. 0 is no answer."""
    with ExitStack() as stack:
        all_of_them = [stack.enter_context(place.connected()) for _ in range(number)]
        for each in all_of_them:
            each.sendall(place.question(path))
        return [status_from(each) for each in all_of_them]


def status_from(made: socket.socket) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(made.recv(65_536).split(maxsplit=2)[1])
    return 0
