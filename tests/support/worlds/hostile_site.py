"""Sites on several addresses of the loopback that answer as they are told, however rudely, and note
who was asked when.

Every host has the same port. What is answered to a target is bytes, sent as they are, or a function
of the connection and the request: what it returns is sent, after None the connection is closed.
"""

from __future__ import annotations

import contextlib
import socket
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from threading import Event, Lock
from time import monotonic
from typing import Self

from tests.support.worlds.faults import Request, SocketServer, answer, read_head

HOME = "127.0.0.1"
NOT_FOUND = answer(404, b"<p>There is nothing here.</p>", "text/html")
DRIP_S = 0.05

Answer = bytes | Callable[[socket.socket, Request], bytes | None]


@dataclass(slots=True)
class Asked:
    """One request. It is over when its answer is sent."""

    host: str
    request: Request
    begun: float
    ended: float = float("inf")

    @property
    def target(self) -> str:
        return self.request.target


@dataclass
class HostileSite(SocketServer):
    others: Iterable[str] = ()
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []
        self.answer_to_all = NOT_FOUND
        self._listeners = {
            host: socket.create_server((host, self.port), backlog=128) for host in self.others
        }
        self._note = Lock()

    def put(self, target: str, answer: Answer, host: str = HOME) -> None:
        self.answers[host, target] = answer

    def put_all(self, pages: Mapping[str, Answer], host: str = HOME) -> None:
        for target, each in pages.items():
            self.put(target, each, host)

    def at(self, target: str, host: str = HOME) -> str:
        """The address of it."""
        return f"http://{host}:{self.port}{target}"

    def lane(self, host: str = HOME) -> str:
        return f"{host}:{self.port}"

    # --- what was asked --------------------------------------------------------------------

    def targets(self, host: str = HOME) -> Counter[str]:
        return Counter(each.target for each in self.asked if each.host == host)

    def gaps(self, host: str = HOME) -> list[float]:
        """Seconds from the end of each answer to the beginning of the next request."""
        own = sorted((each for each in self.asked if each.host == host), key=lambda x: x.begun)
        return [after.begun - before.ended for before, after in pairwise(own)]

    def beats(self, host: str = HOME) -> list[float]:
        """Seconds from the beginning of each request to that of the next."""
        begun = sorted(each.begun for each in self.asked if each.host == host)
        return [after - before for before, after in pairwise(begun)]

    def most_at_once(self, host: str = HOME) -> int:
        own = [each for each in self.asked if each.host == host]
        return max((sum(x.begun <= each.begun < x.ended for x in own) for each in own), default=0)

    def wait_for(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = monotonic() + seconds
        while not holds():
            assert monotonic() < deadline, f"it did not happen; {len(self.asked)} were asked"
            Event().wait(0.02)

    # --- serving ---------------------------------------------------------------------------

    def __enter__(self) -> Self:
        for listener in self._listeners.values():
            self._start(self._accept_at, listener)
        return super().__enter__()

    def go_away(self) -> None:
        for host in list(self._listeners):
            self.die(host)
        super().go_away()

    def die(self, host: str) -> None:
        """Nobody listens there any more, and those who were served are hung up on."""
        listener = self._listeners.pop(host)
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        listener.close()
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    if each.getsockname()[0] == host:
                        each.shutdown(socket.SHUT_RDWR)

    def revive(self, host: str) -> None:
        listener = self._listeners[host] = socket.create_server((host, self.port), backlog=128)
        self._start(self._accept_at, listener)

    def _accept_at(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not self.stopping.is_set():
                connection, _ = listener.accept()
                self._start(self._serve, connection)

    def serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host = connection.getsockname()[0]
        while (request := read_head(connection)) is not None:
            asked = Asked(host, request, monotonic())
            with self._note:
                self.asked.append(asked)
            try:
                sent = self._answer(host, connection, request)
                asked.ended = monotonic()  # before the last byte: whoever has it may ask at once
                if sent is None:
                    return
                connection.sendall(sent)
            finally:
                asked.ended = min(asked.ended, monotonic())

    def _answer(self, host: str, connection: socket.socket, request: Request) -> bytes | None:
        found = self.answers.get((host, request.target), self.answer_to_all)
        return found if isinstance(found, bytes) else found(connection, request)


# --- answers -----------------------------------------------------------------------------------


def page(*links: str, text: str = "", title: str = "", charset: str = "utf-8") -> bytes:
    """A page with these links and this text."""
    return answer(200, markup(*links, text=text, title=title).encode(charset), "text/html")


def markup(*links: str, text: str = "", title: str = "") -> str:
    """As in manuals, the first link is also named as the next page."""
    anchors = "".join(f'<a href="{link}">link</a> ' for link in links)
    after = f'<link rel="next" href="{links[0]}">' if links else ""
    return f"<!DOCTYPE html><title>{title}</title>{after}<body><p>{text}</p>{anchors}</body>"


def redirect(target: str, status: int = 302) -> bytes:
    return answer(status, b"elsewhere", "text/html", Location=target)


def slowly(whole: bytes, seconds: float) -> Answer:
    def send(_: socket.socket, __: Request) -> bytes:
        Event().wait(seconds)
        return whole

    return send


def in_turn(*answers: Answer) -> Answer:
    """One after the other; the last again and again."""
    waiting = list(answers)

    def next_one(connection: socket.socket, request: Request) -> bytes | None:
        now = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return now if isinstance(now, bytes) else now(connection, request)

    return next_one


def cut_short(whole: bytes, kept: int) -> Answer:
    """The whole head says how long it is; only so many bytes of the body come."""
    end = whole.index(b"\r\n\r\n") + 4 + kept

    def send(connection: socket.socket, _: Request) -> None:
        connection.sendall(whole[:end])

    return send


def drip(connection: socket.socket, _: Request) -> None:
    """A byte now and then, without an end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    connection.settimeout(DRIP_S)
    while True:
        connection.sendall(b"x")
        with contextlib.suppress(TimeoutError):
            if not connection.recv(1):
                return


def endless_headers(connection: socket.socket, _: Request) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(1_000_000):
        connection.sendall(b"X-%d: %s\r\n" % (number, b"y" * 1000))


def after_hints(whole: bytes) -> bytes:
    """Behind two interim answers."""
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </nothing>; rel=preload\r\n\r\n"
    return b"HTTP/1.1 100 Continue\r\n\r\n" + hint + whole


@cache
def bomb(size: int) -> bytes:
    """A page packed by gzip that unpacks to so many bytes."""
    packer, block = zlib.compressobj(9, wbits=31), bytes(1_000_000)
    packed = [packer.compress(block) for _ in range(size // len(block))]
    return answer(200, b"".join([*packed, packer.flush()]), "text/html", Content_Encoding="gzip")
