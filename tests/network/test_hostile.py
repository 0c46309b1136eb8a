"""What a server does to harm or mislead us ends with a word, in time, and with that connection."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Event

import pytest

from tests.support.worlds.certificates import context_of
from tests.support.worlds.raw import RawServer, said
from tools.base.why import Why
from tools.errors import GiveUp, HarvestError, ServerTrouble
from tools.network import client as http_module
from tools.network.client import Client
from tools.network.settings import HttpSettings
from tools.network.trouble import NoAnswer, NoUse

pytestmark = pytest.mark.timeout(60)

DEADLINE_S = 0.5
SLACK_S = 10.0  # of a busy machine: without a deadline nothing here would ever end
MiB = 2**20
OK = said(200, b"ok")
OLD_PART = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return context_of(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.fixture(params=["http", "https"])
def serve(
    request: pytest.FixtureRequest,
    stack: ExitStack,
    tls: tuple[Path, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., RawServer]:
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(tls[0]))
    context = tls[1] if request.param == "https" else None
    return lambda *answers: stack.enter_context(RawServer(*answers, tls=context))


Serve = Callable[..., RawServer]
Ask = Callable[[RawServer], bytes]


@pytest.fixture
def client(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(http_module, "FIRST_GAP_S", 0.001)
    settings = HttpSettings(answer_timeout_s=DEADLINE_S * 20, max_bytes=MiB, tries=1)
    return stack.enter_context(closing(Client(settings, None, Event(), 4)))


@pytest.fixture(params=["get", "ask"])
def ask(request: pytest.FixtureRequest, client: Client) -> Ask:
    def one(server: RawServer) -> bytes:
        client.trust(server.host)
        if request.param == "get":
            return client.get(server.url, "*/*").body
        return client.ask("GET", server.url).body

    return one


# ---- a connection is used again only if nothing can be left on it


def test_one_connection_serves_many(ask: Ask, serve: Serve) -> None:
    server = serve(OK)
    assert [ask(server) for _ in range(5)] == [b"ok"] * 5
    assert server.connections == 1


@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_what_comes_later_is_no_answer_to_the_next(ask: Ask, serve: Serve, pause: float) -> None:
    """A second answer to the first request, while nobody listens."""
    sent = Event()

    def twice(connection: socket.socket) -> None:
        connection.sendall(OK)
        time.sleep(pause)
        with suppress(OSError):
            connection.sendall(said(200, b"somebody else's"))
        sent.set()

    server = serve(twice, said(200, b"second"))
    assert ask(server) == b"ok"
    assert sent.wait(SLACK_S)
    assert ask(server) == b"second"
    assert server.connections == 2


def test_a_split_answer_is_not_heard_as_two(ask: Ask, serve: Serve) -> None:
    """Somebody has smuggled line ends into a header, and with them another answer."""
    server = serve(
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n" + OLD_PART + b"no", OK
    )
    with suppress(HarvestError):
        assert ask(server) != b"no"
    assert ask(server) == b"ok"
    assert server.connections == 2


def test_who_hangs_up_between_two_requests_is_asked_over_a_new_connection(
    ask: Ask, serve: Serve
) -> None:
    gone = Event()

    def answer_and_go(connection: socket.socket) -> None:
        connection.sendall(OK)
        connection.shutdown(socket.SHUT_RDWR)
        gone.set()

    server = serve(answer_and_go)
    for _ in range(3):
        assert ask(server) == b"ok"
        assert gone.wait(SLACK_S)
        gone.clear()
    assert server.connections == 3


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_what_is_not_safe_is_sent_once(client: Client, serve: Serve, method: str) -> None:
    server = serve(OK, b"", OK)
    client.trust(server.host)
    client.ask("GET", server.url)
    with pytest.raises(NoAnswer) as caught:
        client.ask(method, server.url, body=b"x")
    assert caught.value.why in (Why.RESET, Why.TLS)
    assert len(server.got) == 2


@pytest.mark.parametrize("half", [b"HTTP/1.1 200 OK\r\nConte", b"HTTP/1.1 103 Hints\r\n\r\n"])
def test_half_an_answer_on_a_kept_connection_is_not_asked_for_again(
    client: Client, serve: Serve, half: bytes
) -> None:
    """It was heard: to ask again is for whoever counts the tries."""

    def hang_up(connection: socket.socket) -> None:
        connection.sendall(half)
        connection.close()

    server = serve(OK, hang_up, OK)
    client.trust(server.host)
    client.ask("GET", server.url)
    with pytest.raises(NoAnswer):
        client.ask("GET", server.url)
    assert len(server.got) == 2


def test_a_new_connection_that_is_hung_up_on_is_trouble(ask: Ask, serve: Serve) -> None:
    server = serve(b"")
    with pytest.raises(ServerTrouble):
        ask(server)
    assert len(server.got) == 1


@pytest.mark.parametrize(
    "odd",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\nrest",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\nok",
    ],
)
def test_after_something_odd_there_is_a_new_one(ask: Ask, serve: Serve, odd: bytes) -> None:
    server = serve(odd, said(200, b"second"))
    assert [ask(server), ask(server)] == [b"ok", b"second"]
    assert server.connections == 2


# ---- time and memory


DRIPS = {
    "a first line": (b"HTTP/1.1 200 O", b"O"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
    "one header": (b"HTTP/1.1 200 OK\r\nA: ", b"b"),
    "interim answers": (b"", b"HTTP/1.1 103 Hints\r\n\r\n"),
    "a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"b"),
    "a body to the end": (b"HTTP/1.1 200 OK\r\n\r\n", b"b"),
    "a size": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "trailers": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"),
}


@pytest.mark.parametrize(("first", "drip"), DRIPS.values(), ids=DRIPS)
def test_whatever_drips_the_deadline_holds(
    client: Client, serve: Serve, first: bytes, drip: bytes
) -> None:
    left = Event()

    def dribble(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(first)
            while not server.stopping.wait(0.05):
                connection.sendall(drip)
        left.set()

    server = serve(dribble)
    client.trust(server.host)
    begun = time.monotonic()
    with pytest.raises(NoAnswer) as caught:
        client.ask("GET", server.url, seconds=DEADLINE_S)
    assert caught.value.why is Why.SILENT
    with pytest.raises(ServerTrouble, match="no complete answer in time"):
        client.get(server.url, "*/*", seconds=DEADLINE_S)
    assert time.monotonic() - begun < 2 * DEADLINE_S + SLACK_S
    assert left.wait(SLACK_S)  # its connection was closed


BOMBS = {
    "gzip": gzip.compress(bytes(50 * MiB)),
    "deflate": zlib.compress(bytes(50 * MiB)),
}


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
@pytest.mark.parametrize("framed", ["length", "chunks", "end"])
def test_bombs_are_told_with_flat_memory(ask: Ask, serve: Serve, coding: str, framed: str) -> None:
    if coding == "br":
        bomb = pytest.importorskip("brotli").compress(bytes(50 * MiB), quality=1)
    else:
        bomb = BOMBS[coding]
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n".encode()
    server = serve(_framed(head, bomb, framed))
    tracemalloc.start()
    try:
        with pytest.raises(GiveUp, match=r"larger than|unpacks to more than"):
            ask(server)
        assert tracemalloc.get_traced_memory()[1] < 12 * MiB
    finally:
        tracemalloc.stop()


def _framed(head: bytes, body: bytes, how: str) -> bytes:
    if how == "length":
        return head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    if how == "end":
        return head + b"\r\n" + body
    size = f"{len(body):x}\r\n".encode()
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + size + body + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "head", [b"A: " + b"b" * 10**7, b"A: b\r\n" * 10**6, b"HTTP/1.1 100 Go on\r\n\r\n" * 10**5]
)
def test_a_head_without_end_ends_early(ask: Ask, serve: Serve, head: bytes) -> None:
    got = Event()

    def send(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 100 Go on\r\n" + head)
        got.set()

    server = serve(send)
    tracemalloc.start()
    try:
        with pytest.raises(ServerTrouble):
            ask(server)
        assert got.wait(SLACK_S)
        assert tracemalloc.get_traced_memory()[1] < 12 * MiB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "length", [b"99999999999999999999999999", b"1" * 5000, b"0x10", b"1e3", b"\xb2"]
)
def test_lengths_that_are_none_end_with_the_connection(
    ask: Ask, serve: Serve, length: bytes
) -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: " + length + b"\r\n\r\nok")
        connection.close()

    assert ask(serve(answer)) == b"ok"


def test_a_torn_connection_within_a_body_is_told(ask: Ask, serve: Serve) -> None:
    def tear(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with pytest.raises(ServerTrouble):
        ask(serve(tear))


# ---- TLS


def test_a_server_that_stops_to_speak_tls_is_told(
    client: Client,
    stack: ExitStack,
    tls: tuple[Path, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the middle of an answer, bytes that no record of TLS begins with."""

    def rubbish(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        with socket.socket(fileno=connection.detach()) as plain:
            plain.sendall(b"HTTP/1.1 200 OK\r\n\r\n" * 10)

    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(tls[0]))
    server = stack.enter_context(RawServer(rubbish, tls=tls[1]))
    client.trust(server.host)
    with pytest.raises(NoAnswer) as caught:
        client.ask("GET", server.url)
    assert caught.value.why is Why.TLS
    with pytest.raises(ServerTrouble, match="SSLError"):
        client.get(server.url, "*/*")


def test_a_certificate_nobody_vouches_for_is_for_good(
    client: Client, stack: ExitStack, tls: tuple[Path, ssl.SSLContext]
) -> None:
    server = stack.enter_context(RawServer(OK, tls=tls[1]))
    client.trust(server.host)
    with pytest.raises(NoUse) as caught:
        client.ask("GET", server.url)
    assert caught.value.why is Why.CERTIFICATE and not server.got


# ---- IPv6


class _Server6(RawServer):
    def __init__(self, *answers: bytes) -> None:
        super().__init__(*answers)
        self._listener.close()
        self._listener = socket.create_server(("::1", self.port), family=socket.AF_INET6)

    @property
    def url(self) -> str:
        return f"http://[::1]:{self.port}"

    @property
    def host(self) -> str:
        return f"[::1]:{self.port}"

    def go_away(self) -> None:
        self.stopping.set()
        with suppress(OSError):
            socket.create_connection(("::1", self.port), timeout=5).close()  # wakes accept
        super().go_away()


def test_addresses_of_ipv6_are_asked_by_their_number(client: Client, stack: ExitStack) -> None:
    try:
        server = stack.enter_context(_Server6(OK))
    except OSError:
        pytest.skip("no IPv6 here")
    with pytest.raises(GiveUp):
        client.ask("GET", server.url)
    client.trust(server.host)
    assert [client.get(server.url, "*/*").body for _ in range(2)] == [b"ok"] * 2
    assert client.ask("GET", server.url).ip == "::1"
    assert server.connections == 1
    assert f"Host: [::1]:{server.port}\r\n".encode() in server.got[0]


# ---- what is asked


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nX: y", "a\0b", "€"])
def test_no_header_of_ours_is_two(client: Client, stack: ExitStack, value: str) -> None:
    server = stack.enter_context(RawServer(OK))
    client.trust(server.host)
    with pytest.raises(GiveUp, match="cannot be sent"):
        client.get(server.url, "*/*", headers={"X-Key": value})
    assert not server.got
