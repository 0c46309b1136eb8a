"""An answer is understood the same however it is cut into pieces, and what is odd about it stays
between this server and us."""

from __future__ import annotations

import http.client
import io
import itertools
import random
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from typing import cast

import pytest

from tools.network.arrival import MOST_INTERIM, Arrival
from tools.network.head import MOST_FIELDS, FieldsByName, head_in
from tools.network.stream import LARGEST_HEAD, LONGEST_LINE, Stream

pytestmark = pytest.mark.timeout(60)

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PATIENCE_S = 30.0
CPU_S = 2.0  # a hundred times what is needed: what grows with the square takes minutes


class Wire:
    """Both ends of a connection: what is said at the other one is heard here."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.here.settimeout(PATIENCE_S)
        self._speaker: Thread | None = None

    def say(self, whole: bytes, *cuts: int, hang_up: bool = True) -> Wire:
        marks = [0, *sorted(cuts), len(whole)]
        pieces = [whole[a:b] for a, b in itertools.pairwise(marks)]
        self._speaker = Thread(target=self._speak, args=(pieces, hang_up), daemon=True)
        self._speaker.start()
        return self

    def _speak(self, pieces: list[bytes], hang_up: bool) -> None:
        with suppress(OSError):  # the other end has heard enough
            for piece in pieces:
                self.there.sendall(piece)
            if hang_up:
                self.there.shutdown(socket.SHUT_WR)

    def stream(self, seconds: float = PATIENCE_S) -> Stream:
        return Stream(self.here, time.monotonic() + seconds)

    def arrival(self, method: str = "GET") -> Arrival:
        return Arrival(self.stream(), method)

    def close(self) -> None:
        self.here.close()
        self.there.close()
        if self._speaker is not None:
            self._speaker.join(PATIENCE_S)


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


def whole(arrival: Arrival) -> bytes:
    return b"".join(iter(lambda: arrival.read(1000), b""))


# ---- where a body ends

WHOLE = {
    "length": OK + b"Content-Length: 4\r\n\r\nbody",
    "chunks": CHUNKED + b"1\r\nb\r\n3\r\nody\r\n0\r\n\r\n",
    "upper case": OK + b"TRANSFER-ENCODING: Chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    "zeros": CHUNKED + b"0004\r\nbody\r\n0000\r\n\r\n",
    "extensions": CHUNKED + b'4;a="\r";b\r\nbody\r\n0;last\r\n\r\n',
    "spaces": CHUNKED + b" 4 \r\nbody\r\n0 \r\n\r\n",
    "trailers": CHUNKED + b"4\r\nbody\r\n0\r\nDigest: x\r\nContent-Length: 9\r\n\r\n",
    "no carriage returns": b"HTTP/1.1 200 OK\nContent-Length: 4\n\nbody",
    "chunks without": CHUNKED + b"4\nbody\n0\n\n",
    "interim": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3
    + OK
    + b"Content-Length: 4\r\n\r\nbody",
    "kept by HTTP/1.0": b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n"
    b"Content-Length: 4\r\n\r\nbody",
}
"""Answers after which another one may follow."""


@pytest.mark.parametrize("said", WHOLE.values(), ids=WHOLE)
def test_cut_anywhere_it_is_the_same(wire: Wire, said: bytes) -> None:
    for cut in range(len(said)):
        for hang_up in (False, True):
            each = Wire().say(said, cut, hang_up=hang_up)
            arrival = each.arrival()
            assert (arrival.head.status, whole(arrival)) == (200, b"body")
            assert arrival.leaves_nothing
            each.close()


@pytest.mark.parametrize("said", WHOLE.values(), ids=WHOLE)
def test_what_lacks_its_end_is_told(wire: Wire, said: bytes) -> None:
    """Behind the last chunk nothing is lacking."""
    enough = said.find(b"\n0") + len(b"\n0\r\n") if b"\n0" in said else len(said)
    for length in range(min(enough, len(said)) - 2):
        each = Wire().say(said[:length])
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            whole(each.arrival())
        each.close()


@pytest.mark.parametrize("said", [b"", b"4", b"4\r\nbody", b"4\r\nbody\r\n", b"4\r\nbody\r\n0"])
def test_chunks_that_are_cut_off_are_short(wire: Wire, said: bytes) -> None:
    with pytest.raises(http.client.IncompleteRead):
        whole(wire.say(CHUNKED + said).arrival())


@pytest.mark.parametrize("said", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("more", [b"\n", b"rest", OK + b"Content-Length: 0\r\n\r\n"])
def test_who_says_more_is_not_heard_again(wire: Wire, said: bytes, more: bytes) -> None:
    arrival = wire.say(said + more, hang_up=False).arrival()
    assert whole(arrival) == b"body"
    assert not arrival.leaves_nothing


ODD = {
    "to the end": (OK + b"\r\nbody", b"body"),
    "to the end, old": (b"HTTP/1.0 200 OK\r\n\r\nbody", b"body"),
    "old with a length": (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", b"body"),
    "close": (OK + b"Connection: close\r\nContent-Length: 4\r\n\r\nbody", b"body"),
    "close among others": (OK + b"Connection: a, Close\r\nContent-Length: 4\r\n\r\nbody", b"body"),
    "close in the second": (
        OK + b"Connection: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody",
        b"body",
    ),
    "two lengths": (OK + b"Content-Length: 4\r\nContent-Length: 9\r\n\r\nbody", b"body"),
    "lengths in a line": (OK + b"Content-Length: 2, 2\r\n\r\nbody", b"body"),
    "less than nothing": (OK + b"Content-Length: -4\r\n\r\nbody", b"body"),
    "more than a number": (OK + b"Content-Length: 4 4\r\n\r\nbody", b"body"),
    "digits of others": (OK + "Content-Length: ²\r\n\r\nbody".encode("latin-1"), b"body"),
    "a line that goes on": (OK + b"Content-Length: 4\r\n 4\r\n\r\nbody", b"body"),
    "space before the colon": (OK + b"Content-Length : 2\r\n\r\nbody", b"body"),
    "length and chunks": (
        OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        b"body",
    ),
    "chunked twice": (
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"4\r\nbody\r\n0\r\n\r\n",
        b"body",
    ),
    "a coding nobody knows": (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\nbody", b"body"),
    "a line that is no header": (OK + b"what\r\nContent-Length: 4\r\n\r\nbody", b"body"),
    "no content, but chunks": (
        b"HTTP/1.1 204 None\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        b"",
    ),
    "no content, but some": (b"HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\nbody", b""),
}


@pytest.mark.parametrize(("said", "body"), ODD.values(), ids=ODD)
def test_where_the_end_can_be_doubted_it_was_the_last(wire: Wire, said: bytes, body: bytes) -> None:
    arrival = wire.say(said).arrival()
    assert whole(arrival) == body
    assert not arrival.leaves_nothing


@pytest.mark.parametrize("head", [b"Content-Length: 4\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_the_answer_to_head_has_no_body(wire: Wire, head: bytes) -> None:
    arrival = wire.say(OK + head + b"\r\n", hang_up=False).arrival("HEAD")
    assert whole(arrival) == b""
    assert arrival.leaves_nothing is (b"Length" in head)


@pytest.mark.parametrize(
    "said",
    [
        WHOLE["length"],
        OK + b"Content-Length: 4\r\n\r\nbod",
        CHUNKED + b"4\r\nbod",
        CHUNKED + b"3\r\nbod\r\n",
        CHUNKED + b"3\r\nbod",
    ],
)
def test_half_a_body_leaves_the_other(wire: Wire, said: bytes) -> None:
    """Whether or not that is here already."""
    arrival = wire.say(said, hang_up=False).arrival()
    assert b"".join(arrival.some(1) for _ in b"bod") == b"bod"
    assert not arrival.is_over and not arrival.leaves_nothing


GARBLED = {
    "no size": CHUNKED + b"\r\nbody\r\n0\r\n\r\n",
    "no number": CHUNKED + b"four\r\nbody\r\n0\r\n\r\n",
    "less than nothing": CHUNKED + b"-4\r\nbody\r\n0\r\n\r\n",
    "more than nothing": CHUNKED + b"+4\r\nbody\r\n0\r\n\r\n",
    "as Python writes it": CHUNKED + b"0x4\r\nbody\r\n0\r\n\r\n",
    "as Python reads it": CHUNKED + b"0_4\r\nbody\r\n0\r\n\r\n",
    "beyond 64 bits": CHUNKED + b"1" + b"0" * 16 + b"\r\nbody\r\n0\r\n\r\n",
    "a chunk too long": CHUNKED + b"3\r\nbody\r\n0\r\n\r\n",
    "an endless size": CHUNKED + b"4" * (LONGEST_LINE + 2),
    "an endless extension": CHUNKED + b"4;" + b"x" * (LONGEST_LINE + 2),
    "many trailers": CHUNKED + b"0\r\n" + b"a: b\r\n" * (MOST_FIELDS + 1) + b"\r\n",
    "large trailers": CHUNKED + b"0\r\n" + (b"a: " + b"b" * 60_000 + b"\r\n") * 6 + b"\r\n",
    "a tab for a name": b"HTTP/1.1 \t\r\n\r\n",
    "no status": b"HTTP/1.1\r\n\r\n",
    "a long status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "a short status": b"HTTP/1.1 20 OK\r\n\r\n",
    "a status with a sign": b"HTTP/1.1 +20 OK\r\n\r\n",
    "digits of others": "HTTP/1.1 20² OK\r\n\r\n".encode("latin-1"),
    "another protocol": b"RTSP/1.0 200 OK\r\n\r\n",
    "a newer one": b"HTTP/2 200 OK\r\n\r\n",
    "an empty line first": b"\r\n" + WHOLE["length"],
    "an endless first line": b"HTTP/1.1 200 " + b"x" * (2 * LONGEST_LINE) + b"\r\n\r\n",
    "an endless header": OK + b"a: " + b"x" * (2 * LONGEST_LINE) + b"\r\n\r\n",
    "many headers": OK + b"a: b\r\n" * (MOST_FIELDS + 1) + b"\r\n",
    "large headers": OK + (b"a: " + b"x" * 60_000 + b"\r\n") * 6 + b"\r\n",
    "headers without end": OK + b"a: b\n" * (LARGEST_HEAD // 4),
    "carriage returns without end": OK + b"\r" * (2 * LONGEST_LINE),
}


@pytest.mark.parametrize("said", GARBLED.values(), ids=GARBLED)
def test_what_is_no_http_is_told(wire: Wire, said: bytes) -> None:
    with pytest.raises(http.client.HTTPException) as caught:
        whole(wire.say(said).arrival())
    assert not isinstance(caught.value, http.client.IncompleteRead)


def test_the_longest_line_is_one(wire: Wire) -> None:
    line = b"a: " + b"x" * (LONGEST_LINE - len(b"a: \r"))
    arrival = wire.say(OK + line + b"\r\nContent-Length: 0\r\n\r\n").arrival()
    assert len(arrival.head.fields[0][1]) == LONGEST_LINE - len(b"a: \r")


def test_a_chunk_of_all_there_is_takes_no_memory(wire: Wire) -> None:
    arrival = wire.say(CHUNKED + b"ffffffffffffffff\r\nbody").arrival()
    assert arrival.some(2**60) == b"body"
    with pytest.raises(http.client.IncompleteRead):
        arrival.some(2**60)


def test_who_speaks_first_and_waits_is_told_at_once(wire: Wire) -> None:
    wire.say(b"SSH-2.0-OpenSSH_9.2\r\n", hang_up=False)
    with pytest.raises(http.client.BadStatusLine):
        wire.arrival()


@pytest.mark.parametrize("said", [b"", b"H", b"HTTP/1.1 200 OK\r\nA: b\r\n"])
def test_silence_is_known_from_half_an_answer(wire: Wire, said: bytes) -> None:
    stream = wire.say(said).stream()
    with pytest.raises(ConnectionError) as caught:
        Arrival(stream, "GET")
    assert isinstance(caught.value, http.client.RemoteDisconnected) is (not said)
    assert stream.is_silent is (not said)


def test_interim_answers_have_an_end(wire: Wire) -> None:
    wire.say(b"HTTP/1.1 102 Processing\r\n\r\n" * (MOST_INTERIM + 1) + WHOLE["length"])
    with pytest.raises(ConnectionError, match="too many interim answers"):
        wire.arrival()


# ---- how long it takes


@pytest.mark.parametrize("piece", [b"x", b"\r", b"a: b\r\n", b" \t"])
def test_a_head_that_drips_costs_what_its_bytes_cost(wire: Wire, piece: bytes) -> None:
    """In as many pieces as bytes, up to where it is given up."""
    said, spent = OK + b"a: " + piece * (LARGEST_HEAD // len(piece)), time.thread_time()
    crumbs = iter([said[at : at + 1] for at in range(len(said))])
    stream = Stream(cast(socket.socket, _Dripping(crumbs)), time.monotonic() + PATIENCE_S)
    with pytest.raises(http.client.HTTPException):
        Arrival(stream, "GET")
    assert time.thread_time() - spent < 5 * CPU_S


class _Dripping:
    """A socket that brings a crumb at a time: a real one of this machine joins them."""

    def __init__(self, crumbs: Iterator[bytes]) -> None:
        self._crumbs = crumbs

    def recv(self, _: int) -> bytes:
        return next(self._crumbs, b"")

    def gettimeout(self) -> float:
        return PATIENCE_S

    def settimeout(self, _: float) -> None:
        pass


@pytest.mark.parametrize(
    "line",
    [
        b"a:" + b" " * 60_000 + b"\0",
        b"a" * 60_000,
        b"a: " + b" \t" * 30_000 + b"x",
        b":" * 60_000,
        b" " * 60_000,
        b"a: \r" * 15_000,
    ],
)
def test_a_head_costs_what_its_bytes_cost(line: bytes) -> None:
    begun = time.thread_time()
    for _ in range(20):
        head_in(OK + b"\r\n".join([line] * 4))
    assert time.thread_time() - begun < CPU_S


def test_crumbs_cost_what_their_bytes_cost(wire: Wire) -> None:
    wire.say(CHUNKED + b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n")
    begun = time.thread_time()
    assert len(whole(wire.arrival())) == 100_000
    assert time.thread_time() - begun < CPU_S


# ---- headers


def test_headers_are_as_they_were_sent() -> None:
    head = head_in(
        b"HTTP/1.1 200  All  right \r\nB: 1\r\na:2\t\r\nB:  3 4 \r\n"
        b"Empty:\r\n\tgoes on\r\nno header\r\nOdd: \xe4\0\xff\rx\r\r\n: nothing"
    )
    assert head.fields == [
        ("B", "1"),
        ("a", "2"),
        ("B", "3 4"),
        ("Empty", "goes on"),
        ("Odd", "ä ÿ x"),
    ]
    assert head.is_spoilt and head.reason == "All  right"


@pytest.mark.parametrize("line", [b"a: b", b"a: b\r", b"A-b_1: x: y; z\r", b"a: \xff\r\r"])
def test_plain_headers_spoil_nothing(line: bytes) -> None:
    assert not head_in(OK + line + b"\n" + line).is_spoilt


def test_headers_by_name() -> None:
    headers = FieldsByName([("Set-Cookie", "a"), ("ETag", "x"), ("set-cookie", "b")])
    assert headers["SET-COOKIE"] == "a, b" and headers.all("etag") == ["x"]
    assert headers.get("Link") is None and "etag" in headers and "Link" not in headers
    assert len(headers) == 2 and sorted(name.lower() for name in headers) == ["etag", "set-cookie"]


# ---- beside the standard library


@pytest.mark.parametrize("seed", range(30))
def test_honest_answers_are_what_http_client_reads(wire: Wire, seed: int) -> None:
    chance = random.Random(seed)
    body = chance.randbytes(chance.choice([0, 1, 100, 70_000, 200_000]))
    said = _answer(chance, body)
    theirs = http.client.HTTPResponse(cast(socket.socket, _File(said)))
    theirs.begin()
    cuts = [chance.randrange(len(said)) for _ in range(chance.randrange(6))]
    ours = wire.say(said, *cuts).arrival()
    assert ours.head.fields == [(name, value) for name, value in theirs.getheaders()]
    assert whole(ours) == theirs.read() == body
    assert ours.leaves_nothing


def _answer(chance: random.Random, body: bytes) -> bytes:
    names = [f"X-{number}: {'v' * chance.randrange(50)}" for number in range(chance.randrange(20))]
    head = "\r\n".join(["HTTP/1.1 200 OK", *names]).encode()
    if chance.random() < 0.5:
        return head + f"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    chunks, at = b"", 0
    while at < len(body):
        piece = body[at : at + chance.choice([1000, 65536, 80_000])]
        chunks += f"{len(piece):{chance.choice('xX')}};x\r\n".encode() + piece + b"\r\n"
        at += len(piece)
    return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nT: x\r\n\r\n"


class _File:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _: str) -> io.BytesIO:
        return io.BytesIO(self._content)
