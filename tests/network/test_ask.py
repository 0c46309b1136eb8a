"""Whatever a host says is brought as it was said, once; what it does not say has a word."""

from __future__ import annotations

import gc
import gzip
import resource
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.network.exchanges import recorded
from tests.support.ports import closed_port
from tests.support.worlds.certificates import context_of
from tests.support.worlds.faults import FaultServer, gzip_bomb
from tests.support.worlds.proxies import HttpProxy, Proxy, Socks5Proxy
from tests.support.worlds.raw import RawServer, said
from tools.base.why import Why
from tools.errors import GiveUp, Unavailable, UsageError
from tools.network import response as response_module
from tools.network.asker import MOST_DOUBTS
from tools.network.client import Client
from tools.network.request import Request, followed, redirected, referer
from tools.network.response import Response, unpacked
from tools.network.settings import HttpSettings
from tools.network.trouble import NoAnswer, NoUse
from tools.proxy import Proxies

pytestmark = pytest.mark.timeout(60)

DEADLINE_S = 0.5
SLACK_S = 10.0  # of a busy machine: without a deadline nothing here would ever end


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(stack: ExitStack) -> Callable[..., RawServer]:
    return lambda *answers, **how: stack.enter_context(RawServer(*answers, **how))


@pytest.fixture
def client(stack: ExitStack) -> Client:
    return new_client(stack)


Serve = Callable[..., RawServer]


def new_client(stack: ExitStack, *proxies: str, hosts: int = 0, **settings: Any) -> Client:
    usual: dict[str, Any] = {"answer_timeout_s": 5.0, "connect_timeout_s": 2.0, "max_bytes": 10**6}
    made = Client(HttpSettings(**usual | settings), Proxies(proxies), Event(), 8, hosts=hosts)
    return stack.enter_context(closing(made))


def ask(client: Client, server: RawServer | FaultServer, path: str = "/", **how: Any) -> Response:
    client.trust(f"127.0.0.1:{server.port}")
    return client.ask(how.pop("method", "GET"), server.url + path, **how)


def no_answer(client: Client, server: RawServer | FaultServer, path: str = "/", **how: Any) -> Why:
    with pytest.raises(NoAnswer) as caught:
        ask(client, server, path, **how)
    return caught.value.why


def no_use(client: Client, server: RawServer | FaultServer, path: str = "/", **how: Any) -> Why:
    with pytest.raises(NoUse) as caught:
        ask(client, server, path, **how)
    return caught.value.why


# ---- what is brought


@pytest.mark.parametrize("status", [200, 206, 301, 400, 401, 404, 410, 429, 500, 503, 599, 999])
def test_every_status_is_an_answer(client: Client, serve: Serve, status: int) -> None:
    server = serve(said(status, b"because", "Location: /elsewhere", "Retry-After: 9"))
    answer = ask(client, server)
    assert (answer.status, answer.reason, answer.body) == (status, "Said", b"because")
    assert (answer.version, answer.ip) == ("HTTP/1.1", "127.0.0.1")
    assert len(server.got) == 1


def test_headers_are_as_they_were_sent(client: Client, serve: Serve) -> None:
    server = serve(said(200, b"", "x-B: 1", "Set-Cookie: a=1", "X-a:  two ", "Set-Cookie: b=\xe4"))
    answer = ask(client, server)
    assert answer.headers == [
        ("x-B", "1"),
        ("Set-Cookie", "a=1"),
        ("X-a", "two"),
        ("Set-Cookie", "b=\xe4"),
        ("Content-Length", "0"),
    ]
    assert (answer.all("set-cookie"), answer.header("X-A")) == (["a=1", "b=\xe4"], "two")
    assert answer.header("gone") == ""


def test_a_line_that_is_no_header_spoils_no_other(client: Client, serve: Serve) -> None:
    server = serve(said(200, b"body", "A: 1", "no header at all", ": nameless", "B: 2", "  and 3"))
    answer = ask(client, server)
    assert (answer.header("a"), answer.header("b"), answer.body) == ("1", "2 and 3", b"body")


def test_the_request_is_kept_as_it_was_sent(client: Client, serve: Serve) -> None:
    server = serve(said())
    answer = ask(client, server, "/a?b#c", headers={"Accept": "text/html", "X-Own": "y"})
    assert server.got == [answer.request]
    lines = answer.request.decode().split("\r\n")
    assert lines[:2] == ["GET /a?b HTTP/1.1", f"Host: {server.host}"]
    assert "Accept: text/html" in lines and "X-Own: y" in lines
    assert "Accept-Encoding: gzip, deflate" in lines


def test_a_body_is_sent_with_its_length(client: Client, serve: Serve) -> None:
    server = serve(said())
    for body in (b"a=1&b=2", b"", b"x" * 300_000):
        answer = ask(client, server, method="POST", body=body, headers={"Content-Type": "a/b"})
        assert server.got[-1] == answer.request + body
        assert f"\r\nContent-Length: {len(body)}\r\n".encode() in answer.request
    ask(client, server)
    assert b"Content-" not in server.got[-1]  # nothing is left of one request for the next


def test_chunks_are_joined_and_their_packing_is_left(client: Client, serve: Serve) -> None:
    packed = gzip.compress(b"long " * 100)
    chunks = b"".join(b"%x;x=y\r\n%s\r\n" % (len(each), each) for each in (packed[:9], packed[9:]))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\nTransfer-Encoding: chunked\r\n\r\n"
    server = serve(head + chunks + b"0\r\nTrailer: 1\r\n\r\n")
    answer = ask(client, server)
    assert (answer.payload, answer.body) == (packed, b"long " * 100)
    assert ask(client, server).body == answer.body
    assert server.connections == 1


def test_old_servers_end_with_the_connection(client: Client, serve: Serve) -> None:
    answer = ask(client, serve(b"HTTP/1.0 200 OK\r\n\r\nall of it"))
    assert (answer.version, answer.body) == ("HTTP/1.0", b"all of it")


@pytest.mark.parametrize("method, status", [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_what_has_no_body_has_none(client: Client, serve: Serve, method: str, status: int) -> None:
    server = serve(said(status, b"", "Content-Encoding: gzip", length=1000))
    for _ in range(2):
        assert ask(client, server, method=method).body == b""
    assert server.connections == 1


def test_connections_are_kept(client: Client, serve: Serve) -> None:
    server = serve(said(200, b"ok"))
    assert [ask(client, server).body for _ in range(20)] == [b"ok"] * 20
    assert server.connections == 1


def test_an_exchange_is_told_for_each(client: Client, serve: Serve) -> None:
    server = serve(said(200, b"12345"), said(404, b"no"), b"")
    seen = recorded(client)
    ask(client, server)
    ask(client, server)
    assert no_answer(client, server) is Why.RESET
    assert [(each.host, each.status, each.size) for each in seen] == [
        (server.host, 200, 5),
        (server.host, 404, 2),
        (server.host, 0, 0),
    ]


# ---- addresses and headers from outside


@pytest.mark.parametrize(
    "path, sent",
    [
        ("/a b", "/a%20b"),
        ("/ä?ö=ü", "/%C3%A4?%C3%B6=%C3%BC"),
        ("/x\r\nEvil: 1", "/xEvil:%201"),
        ("/x\x00\x7f", "/x%00%7F"),
        ("?q", "/?q"),
        ("", "/"),
        ("/q?", "/q?"),
        ("//double//", "//double//"),
        ("/a%2Fb%zz?[1]|2'\"<>^`{}", "/a%2Fb%zz?[1]|2'\"<>^`{}"),
    ],
)
def test_a_target_is_one_word(client: Client, serve: Serve, path: str, sent: str) -> None:
    server = serve(said())
    ask(client, server, path)
    assert server.got[0].split(b"\r\n")[0].decode() == f"GET {sent} HTTP/1.1"
    assert b"\r\nEvil" not in server.got[0]


def test_a_login_in_an_address_is_not_sent(client: Client, serve: Serve) -> None:
    server = serve(said())
    client.trust(server.host)
    client.ask("GET", f"http://me:secret@{server.host}/x")
    assert b"secret" not in server.got[0] and b"Authorization" not in server.got[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"A": "b\r\nEvil: 1"},
        {"A\r\nEvil": "1"},
        {"A": "\x00"},
        {"A": "\u0100"},
        {"": "x"},
        {"Content-Length": "7"},
        {"Transfer-Encoding": "chunked"},
        {"host": "other.example"},
    ],
)
def test_a_header_that_would_be_more_is_refused(
    client: Client, serve: Serve, headers: dict[str, str]
) -> None:
    server = serve(said())
    with pytest.raises(GiveUp, match="cannot be sent"):
        ask(client, server, headers=headers)
    with pytest.raises(UsageError):
        ask(client, server, method="GET / HTTP/1.1\r\n")
    assert server.got == []


# ---- whom to ask


def test_private_addresses_are_asked_only_when_named(client: Client, serve: Serve) -> None:
    server = serve(said())
    for url in (server.url, f"http://localhost:{server.port}/", "http://127.0.0.1/"):
        with pytest.raises(GiveUp, match=r"private|port"):
            client.ask("GET", url)
    assert server.connections == 0 and not client.traffic.requests
    client.trust(server.host)
    assert client.ask("GET", server.url).status == 200
    with pytest.raises(GiveUp):
        client.ask("GET", f"http://localhost:{server.port}/")


@pytest.mark.parametrize(
    "url",
    [
        "http://0x7f.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
        "http://0/",
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "http://[fe80::1]/",
        "https://127.1/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http:///x",
        "http://",
        "http://h:0/",
        "http://h:99999/",
        "http://a b/",
        "http://public.example\\@10.0.0.1/",
        "nothing",
        "",
    ],
)
def test_no_spelling_leads_inside(client: Client, url: str) -> None:
    with pytest.raises(GiveUp):
        client.ask("GET", url)
    assert not client.traffic.requests


# ---- redirects


def test_nothing_is_followed(client: Client, serve: Serve) -> None:
    server = serve(said(301, b"", "Location: /again"))
    assert ask(client, server).header("location") == "/again"
    assert len(server.got) == 1


@pytest.mark.parametrize(
    "status, method, body",
    [
        (301, "GET", b""),
        (302, "GET", b""),
        (303, "GET", b""),
        (307, "POST", b"a=1"),
        (308, "POST", b"a=1"),
    ],
)
def test_a_post_that_is_sent_elsewhere(
    client: Client, serve: Serve, status: int, method: str, body: bytes
) -> None:
    server = serve(said(status, b"", "Location: /there"), said(200, b"here"))
    client.trust(server.host)
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Key": "k"}
    answer = followed(client.ask, Request("POST", server.url + "/x", form, b"a=1"))
    assert (answer.body, answer.url) == (b"here", server.url + "/there")
    head, _, sent = server.got[1].partition(b"\r\n\r\n")
    assert (head.split()[0].decode(), sent) == (method, body)
    assert (b"Content-Type" in head) == bool(body) and b"X-Key: k" in head


def test_redirects_end(client: Client, serve: Serve) -> None:
    server = serve(said(302, b"", "Location: /again"))
    client.trust(server.host)
    with pytest.raises(GiveUp, match="too often"):
        followed(client.ask, Request("GET", server.url))
    assert len(server.got) == 6


def response_to(url: str, location: str, status: int = 307) -> Response:
    headers = [("Location", location)]
    return Response(status, "", "HTTP/1.1", headers, b"", b"", url, None, b"")


@pytest.mark.parametrize(
    "location, keeps",
    [
        ("/same", True),
        ("http://a.example/", False),
        ("https://b.example/", False),
        ("https://a.example:8443/", False),
        ("//a.example:443/x", True),
    ],
)
def test_secrets_stay_with_their_host(location: str, keeps: bool) -> None:
    secrets = {"Authorization": "x", "Cookie": "y", "Referer": "z", "Accept": "*/*"}
    asked = Request("POST", "https://a.example/", secrets, b"")
    there = redirected(asked, response_to(asked.url, location))
    assert set(there.headers) == (set(secrets) if keeps else {"Accept"})


@pytest.mark.parametrize("location", ["", "http://", "ftp://a.example/", "http://[/", "data:,x"])
def test_a_redirect_to_nowhere_is_told(location: str) -> None:
    asked = Request("GET", "https://a.example/")
    with pytest.raises(GiveUp, match="redirected to"):
        redirected(asked, response_to(asked.url, location))


def test_a_referer_tells_no_secret() -> None:
    assert referer("http://me:pw@a.example/x?y#z", "https://b.example/") == "http://a.example/x?y"
    assert referer("https://a.example/", "http://b.example/") is None
    assert referer("file:///home/me", "http://b.example/") is None
    assert referer("http://a.example/", "ftp://b.example/") is None


# ---- what does not come


@pytest.mark.parametrize(
    "answer, why",
    [
        (b"", Why.RESET),
        (b"HTTP/1.1 200 OK\r\nContent-Le", Why.RESET),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nshort", Why.SHORT),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nshort", Why.SHORT),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nshort", Why.GARBLED),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nshort", Why.GARBLED),
        (b"HTTP/2.0 200 OK\r\n\r\n", Why.GARBLED),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", Why.GARBLED),
        (b"HTTP/1.1 twohundred OK\r\n\r\n", Why.GARBLED),
        (b"\x00" * 70_000, Why.GARBLED),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", Why.GARBLED),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", Why.GARBLED),
        (b"HTTP/1.1 200 OK\r\n" + (b"A: " + b"b" * 9000 + b"\r\n") * 50 + b"\r\n", Why.GARBLED),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Why.RESET),
    ],
)
def test_what_is_no_answer_has_a_word(
    stack: ExitStack, serve: Serve, answer: bytes, why: Why
) -> None:
    client = new_client(stack)

    def send(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(answer)
        connection.close()

    assert no_answer(client, serve(send)) is why


def test_nobody_listens(client: Client) -> None:
    port = closed_port()
    client.trust(f"127.0.0.1:{port}")
    with pytest.raises(NoAnswer) as caught:
        client.ask("GET", f"http://127.0.0.1:{port}/")
    assert caught.value.why is Why.REFUSED and caught.value.why.is_network


def test_a_connection_that_is_torn_down(client: Client, serve: Serve) -> None:
    def reset(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    assert no_answer(client, serve(reset)) is Why.RESET


@pytest.mark.parametrize(
    "code, kind, why",
    [
        (socket.EAI_AGAIN, NoAnswer, Why.NAME),
        (socket.EAI_NONAME, NoUse, Why.UNKNOWN_NAME),
    ],
)
def test_a_name_that_leads_nowhere(
    client: Client, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[NoAnswer], why: Why
) -> None:
    def fail(*_: Any) -> Any:
        raise socket.gaierror(code, "no luck")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(kind) as caught:
        client.ask("GET", "http://nowhere.example/")
    assert caught.value.why is why


@pytest.mark.parametrize("path", ["/dribble", "/dribble-headers", "/hang", "/hang-after-headers"])
def test_the_deadline_is_for_all_of_it(client: Client, path: str) -> None:
    with FaultServer() as server:
        begun = time.monotonic()
        assert no_answer(client, server, path, seconds=DEADLINE_S) is Why.SILENT
        assert time.monotonic() - begun < DEADLINE_S + SLACK_S


@pytest.mark.parametrize("way", ["not at all", "slowly"])
def test_a_server_that_does_not_read_is_left(stack: ExitStack, serve: Serve, way: str) -> None:
    """Its buffers take some; the rest waits no longer than it may."""
    done = Event()
    stack.callback(done.set)

    def read(connection: socket.socket) -> None:
        while not done.wait(0.02) and (way == "not at all" or connection.recv(65536)):
            pass

    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    reader = Thread(target=lambda: read(stack.enter_context(listener.accept()[0])), daemon=True)
    reader.start()
    client, port = new_client(stack), listener.getsockname()[1]
    client.trust(f"127.0.0.1:{port}")
    begun = time.monotonic()
    with pytest.raises(NoAnswer) as caught:
        client.ask("POST", f"http://127.0.0.1:{port}/", body=bytes(10**8), seconds=DEADLINE_S)
    assert caught.value.why is Why.SILENT
    assert time.monotonic() - begun < DEADLINE_S + SLACK_S
    done.set()
    reader.join(30)


def test_an_early_answer_to_a_long_question_is_heard(client: Client, serve: Serve) -> None:
    server = serve(said(413, b"too much", "Connection: close"))
    assert ask(client, server, method="POST", body=bytes(1000)).status == 413


@pytest.mark.parametrize("method, asked", [("GET", 3), ("POST", 2)])
def test_who_hangs_up_on_a_kept_connection_is_asked_again_if_that_is_safe(
    client: Client, serve: Serve, method: str, asked: int
) -> None:
    server = serve(said(200, b"one"), b"", said(200, b"two"))
    assert ask(client, server).body == b"one"
    if method == "GET":
        assert ask(client, server).body == b"two"
    else:
        assert no_answer(client, server, method="POST", body=b"") is Why.RESET
    assert len(server.got) == asked


def test_no_more_files_is_our_own_trouble(stack: ExitStack) -> None:
    """Nobody accepts here: a server of this process would have no files either."""
    listener, client = (
        stack.enter_context(socket.create_server(("127.0.0.1", 0))),
        new_client(stack),
    )
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    client.trust(address)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    gc.collect()  # what it closes later would be a file for us
    with socket.socket() as highest:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest.fileno(), limits[1]))
    try:
        with pytest.raises(Unavailable, match="no more connections"):
            client.ask("GET", f"http://{address}/")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


# ---- what is too much


@pytest.mark.parametrize("path", ["/stream", "/crumbs", "/stream/404"])
def test_a_body_without_end_ends(client: Client, path: str) -> None:
    with FaultServer() as server:
        assert no_use(client, server, path, most=100_000) is Why.LARGE


def test_a_length_that_is_too_large_is_not_read(client: Client, serve: Serve) -> None:
    server = serve(said(200, b"", length=10**15))
    assert no_use(client, server) is Why.LARGE


def test_limits_are_exact(client: Client, serve: Serve) -> None:
    packed = gzip.compress(bytes(1000))
    plain, zipped = (
        serve(said(200, bytes(1000))),
        serve(said(200, packed, "Content-Encoding: gzip")),
    )
    assert len(ask(client, plain, most=1000).body) == 1000
    assert no_use(client, plain, most=999) is Why.LARGE
    assert len(ask(client, zipped, most=len(packed), most_unpacked=1000).body) == 1000
    assert no_use(client, zipped, most_unpacked=999) is Why.LARGE
    assert no_use(client, zipped, most=len(packed) - 1) is Why.LARGE


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "deflate"])
def test_a_bomb_is_told(client: Client, serve: Serve, coding: str) -> None:
    bomb = gzip_bomb() if "gzip" in coding else zlib.compress(bytes(10**7))
    bomb = gzip.compress(bomb) if "," in coding else bomb
    server = serve(said(200, bomb, f"Content-Encoding: {coding}"))
    with pytest.raises(NoUse, match="unpacks to more than 1,000,000 bytes"):
        ask(client, server)


# ---- packed bodies


RAW = zlib.compress(b"ok")[2:-4]


@pytest.mark.parametrize(
    "coding, payload",
    [
        ("gzip", gzip.compress(b"ok", mtime=0)),
        ("x-gzip", gzip.compress(b"ok", mtime=0)),
        ("gzip", gzip.compress(b"o", mtime=0) + gzip.compress(b"k", mtime=0)),
        ("gzip", gzip.compress(b"ok", mtime=0) + b"rubbish"),
        ("deflate", zlib.compress(b"ok")),
        ("deflate", RAW),
        ("identity", b"ok"),
        ("utf-8", b"ok"),
        ("", b"ok"),
        ("gzip , deflate", zlib.compress(gzip.compress(b"ok", mtime=0))),
    ],
)
def test_what_can_be_unpacked_is(coding: str, payload: bytes) -> None:
    assert unpacked(payload, [coding], 2) == b"ok"


@pytest.mark.parametrize(
    "coding, payload",
    [
        ("gzip", gzip.compress(b"ok" * 99, mtime=0)[:-1]),
        ("gzip", b"<html>"),
        ("deflate", b"<html>"),
        ("zstd", b"x"),
        ("compress", b"x"),
        (", ".join(["gzip"] * 30), b"x"),
    ],
)
def test_what_cannot_be_unpacked_is_told(coding: str, payload: bytes) -> None:
    with pytest.raises(NoUse) as caught:
        unpacked(payload, [coding], 1000)
    assert caught.value.why is Why.SPOILT


def test_brotli_is_read_where_it_is_installed() -> None:
    if "br" not in response_module.READABLE:
        with pytest.raises(NoUse, match="packed by br"):
            unpacked(b"x", ["br"], 10)
        return
    import brotli

    assert unpacked(brotli.compress(b"ok"), ["br"], 2) == b"ok"
    with pytest.raises(NoUse):
        unpacked(brotli.compress(bytes(10**7)), ["br"], 10**6)


# ---- TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return context_of(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.fixture
def trusts(tls: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(tls[0]))


@pytest.mark.usefixtures("trusts")
def test_a_certificate_that_is_right(
    client: Client, serve: Serve, tls: tuple[Path, ssl.SSLContext]
) -> None:
    server = serve(said(200, b"safe"), tls=tls[1])
    assert [ask(client, server).body for _ in range(3)] == [b"safe"] * 3
    assert server.connections == 1


def test_a_certificate_nobody_vouches_for(
    client: Client, serve: Serve, tls: tuple[Path, ssl.SSLContext]
) -> None:
    server = serve(said(200, b"safe"), tls=tls[1])
    assert no_use(client, server) is Why.CERTIFICATE
    assert server.got == []


@pytest.mark.usefixtures("trusts")
def test_a_certificate_for_another_name(
    client: Client, serve: Serve, tls: tuple[Path, ssl.SSLContext]
) -> None:
    server = serve(said(200, b"safe"), tls=tls[1])
    client.trust(f"localhost:{server.port}")
    with pytest.raises(NoUse) as caught:
        client.ask("GET", f"https://localhost:{server.port}/")
    assert caught.value.why is Why.CERTIFICATE


def test_who_speaks_no_tls(client: Client, serve: Serve) -> None:
    server = serve(said())
    client.trust(server.host)
    with pytest.raises(NoAnswer) as caught:
        client.ask("GET", f"https://{server.host}/", seconds=2)
    assert caught.value.why in (Why.TLS, Why.RESET, Why.SILENT)


# ---- proxies


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
@pytest.mark.parametrize("is_safe", [False, True])
@pytest.mark.usefixtures("trusts")
def test_through_a_proxy(
    stack: ExitStack,
    serve: Serve,
    tls: tuple[Path, ssl.SSLContext],
    kind: type[Proxy],
    is_safe: bool,
) -> None:
    server = serve(said(200, b"ok"), tls=tls[1] if is_safe else None)
    proxy = stack.enter_context(kind("me", "hunter2"))
    client = new_client(stack, proxy.url_with_password)
    answer = ask(client, server, "/x?y")
    assert (answer.body, answer.ip) == (b"ok", None)
    assert answer.request.startswith(b"GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"roxy" not in answer.request + server.got[0]
    assert proxy.asked == 1


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_a_dead_proxy_is_no_trouble_of_the_host(
    stack: ExitStack, serve: Serve, scheme: str
) -> None:
    server = serve(said())
    client = new_client(stack, f"{scheme}://127.0.0.1:{closed_port()}")
    why = no_answer(client, server)
    assert why is Why.PROXY and not why.is_network
    with pytest.raises(Unavailable, match="none of the 1 proxies works"):
        ask(client, server)
    assert server.connections == 0


def test_a_proxy_that_wants_other_credentials_is_benched(stack: ExitStack, serve: Serve) -> None:
    proxy = stack.enter_context(HttpProxy("me", "hunter2"))
    client, server = new_client(stack, proxy.url), serve(said())
    assert no_answer(client, server) is Why.PROXY
    with pytest.raises(Unavailable):
        ask(client, server)


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
def test_a_dead_host_benches_no_proxy(stack: ExitStack, serve: Serve, kind: type[Proxy]) -> None:
    """Else one host of thousands would stop the harvest of all others."""
    proxy, server = stack.enter_context(kind(mode="tells")), serve(said(200, b"ok"))
    client, port = new_client(stack, proxy.url), closed_port()
    client.trust(f"127.0.0.1:{port}")
    for _ in range(3):
        with pytest.raises(NoAnswer) as caught:
            client.ask("GET", f"https://127.0.0.1:{port}/")
        assert caught.value.why is not Why.PROXY
    assert ask(client, server).body == b"ok"


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_a_proxy_that_reaches_nobody_is_benched_after_all(
    stack: ExitStack, serve: Serve, scheme: str
) -> None:
    """It takes connections and says nothing, as it would for one host that is away."""
    mute = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=50))
    client = new_client(stack, f"{scheme}://127.0.0.1:{mute.getsockname()[1]}")
    client.trust("127.0.0.1:9")
    for _ in range(MOST_DOUBTS):
        with pytest.raises(NoAnswer) as caught:
            client.ask("GET", "https://127.0.0.1:9/", seconds=0.05)
        assert caught.value.why is Why.SILENT
    with pytest.raises(Unavailable, match="none of the 1 proxies works"):
        client.ask("GET", "https://127.0.0.1:9/", seconds=0.05)


# ---- very many hosts


def test_many_hosts_leave_few_connections(stack: ExitStack, monkeypatch: Any) -> None:
    """Each of these names is a host of its own, with connections of its own."""
    server = stack.enter_context(RawServer(said(200, b"ok")))
    client = new_client(stack, hosts=50)
    real: Callable[..., Any] = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest: real("127.0.0.1", *rest))

    def visit(number: int) -> bytes:
        name = f"host{number}.example:{server.port}"
        client.trust(name)
        return client.ask("GET", f"http://{name}/").body

    before = open_sockets()
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(visit, range(400))) == {b"ok"}
    ours = (open_sockets() - before) / 2  # the server has as many
    assert ours <= 50 * 5 / 4 + 8


def open_sockets() -> int:
    links = (each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sum("socket:" in str(link) for link in links)
