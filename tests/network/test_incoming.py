"""What clients ask of our servers: cut anywhere, spoilt, and without measure."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import pytest

from tools.network.head import MOST_FIELDS
from tools.network.incoming import Incoming, Refused, incoming
from tools.network.stream import LARGEST_HEAD, LONGEST_LINE, Stream

PATIENCE_S = 10.0
ASKED = b"GET /c/en/dog?limit=3 HTTP/1.1\r\nHost: a\r\nAccept:  text/html \r\naccept: b\r\n\r\n"


class Caller:
    def __init__(self) -> None:
        self.here, self._there = socket.socketpair()
        self._stream = Stream(self.here, time.monotonic() + PATIENCE_S, beginning=b"")

    def says(self, *pieces: bytes) -> None:
        Thread(target=self._speak, args=(pieces,), daemon=True).start()

    def _speak(self, pieces: tuple[bytes, ...]) -> None:
        with suppress(OSError):  # the other end has heard enough
            for each in pieces:
                self._there.sendall(each)

    def heard(self) -> Incoming:
        return incoming(self._stream)

    def close(self) -> None:
        self.here.close()
        self._there.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    caller = Caller()
    yield caller
    caller.close()


def test_the_first_of_a_header_counts_however_its_name_is_written(caller: Caller) -> None:
    caller.says(ASKED)
    asked = caller.heard()
    assert (asked.method, asked.target, asked.is_last) == ("GET", "/c/en/dog?limit=3", False)
    assert asked.line == "GET /c/en/dog?limit=3 HTTP/1.1"
    assert asked.headers.get("ACCEPT") == "text/html"
    assert "Host" in asked.headers
    assert asked.headers.get("Via", "none") == "none"


def test_cut_anywhere_it_is_the_same_and_the_next_one_follows() -> None:
    for cut in range(len(ASKED)):
        caller = Caller()
        caller.says(ASKED[:cut], ASKED[cut:] + ASKED)
        assert caller.heard() == caller.heard()
        caller.close()


@pytest.mark.parametrize(
    ("version", "connection", "is_last"),
    [
        (b"1.1", b"", False),
        (b"1.1", b"Connection: Close\r\n", True),
        (b"1.1", b"Connection: keep-alive\r\n", False),
        (b"1.0", b"", True),
        (b"1.0", b"Connection: Keep-Alive\r\n", False),
    ],
)
def test_who_wants_to_go_on(
    caller: Caller, version: bytes, connection: bytes, is_last: bool
) -> None:
    caller.says(b"GET / HTTP/" + version + b"\r\n" + connection + b"\r\n")
    assert caller.heard().is_last is is_last


def test_lines_without_carriage_returns(caller: Caller) -> None:
    caller.says(b"GET / HTTP/1.1\nA: b\n\n")
    assert caller.heard().headers == {"a": "b"}


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / x HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length : 3\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (MOST_FIELDS + 1) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * LONGEST_LINE + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * LARGEST_HEAD, 431),
        (b"GET /" + b"x" * LONGEST_LINE, 414),
        (b"GET /" + b"x" * (LONGEST_LINE - 5) + b"\r\n", 414),
        (b"\x16\x03\x01" * LONGEST_LINE, 414),
    ],
)
def test_who_asks_without_measure_or_sense_is_told(
    caller: Caller, said: bytes, status: int
) -> None:
    caller.says(said)
    with pytest.raises(Refused) as refused:
        caller.heard()
    assert refused.value.status == status


@pytest.mark.parametrize("said", [b"", b"GET /", ASKED[:-2]])
def test_who_hangs_up_has_asked_nothing(caller: Caller, said: bytes) -> None:
    caller._there.sendall(said)
    caller._there.shutdown(socket.SHUT_WR)
    with pytest.raises(OSError, match=r"hung up|cut off"):
        caller.heard()
