"""The server over real sockets: crashes, methods, limits, and what it does with rude clients."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conceptnet.index.test_index import WORLD
from tools.conceptnet.index.build import index_of
from tools.conceptnet.index.index import Index
from tools.conceptnet.mirror.mirror import ClientLimits, Handler, Mirror
from tools.network.reply import Reply as Sent

CONTEXT = ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"]
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection that is kept for all requests."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self.connection = HTTPConnection(str(address.hostname), address.port, timeout=30)

    def get(self, target: str, method: str = "GET", body: Any = None, **headers: str) -> Reply:
        self.connection.request(method, target, body=body, headers=headers)
        response = self.connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())

    def json(self, target: str) -> Any:
        reply = self.get(target)
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/json"
        return reply.json()

    def close(self) -> None:
        self.connection.close()


def send_raw(url: str, request: bytes) -> bytes:
    """What comes back until the server hangs up."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.fixture(scope="module")
def assertions() -> Index:
    return index_of(WORLD)


@pytest.fixture(scope="module")
def url(assertions: Index) -> Iterator[str]:
    with Mirror(assertions) as mirror:
        yield mirror.url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    client = Client(url)
    yield client
    client.close()


# What arrives


def test_it_listens_on_loopback_at_a_port_of_its_own(url: str) -> None:
    assert url.startswith("http://127.0.0.1:")
    assert urlsplit(url).port


@pytest.mark.parametrize(
    ("target", "status"),
    [("/c/en/dog", 200), ("/c/en/zzzz", 200), ("/nope", 404), ("//c/en/dog", 308)],
)
def test_pages_errors_and_redirects_arrive(client: Client, target: str, status: int) -> None:
    assert client.get(target).status == status


def test_path_and_query_arrive_decoded(client: Client) -> None:
    page = client.json("/query?start=%2Fc%2Fen%2Fna%C3%AFve_waiter")
    assert page["edges"][0]["end"]["@id"] == "/c/en/café"


def test_raw_utf8_in_a_path(url: str) -> None:
    request = "GET /c/en/naïve_waiter HTTP/1.1\r\nConnection: close\r\n\r\n".encode()
    assert "/c/en/café".encode() in send_raw(url, request)


class Crashing(Handler):
    def answer(self, path: str, query: Mapping[str, str]) -> Sent:
        if path == "/crash":
            raise RuntimeError("secret detail")
        return super().answer(path, query)


def test_a_crash_is_http_500_without_any_detail(
    assertions: Index, caplog: pytest.LogCaptureFixture
) -> None:
    with Mirror(assertions, handler=Crashing) as mirror:
        client = Client(mirror.url)
        with caplog.at_level(logging.ERROR):
            reply = client.get("/crash")
        assert client.json("/c/en/dog")["edges"]
        client.close()
    assert reply.status == 500
    assert reply.json() == {
        "@context": CONTEXT,
        "error": {"details": "Internal server error", "status": 500},
        "version": "5.8.1",
    }
    assert "secret detail" in caplog.text


class Silent(Handler):
    def send(self, answer: Sent) -> None:
        raise ValueError("cannot send")


def test_a_crash_while_sending_is_logged_and_ends_only_that_connection(
    assertions: Index, caplog: pytest.LogCaptureFixture
) -> None:
    with Mirror(assertions, handler=Silent) as mirror, caplog.at_level(logging.ERROR):
        assert send_raw(mirror.url, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert send_raw(mirror.url, b"GET / HTTP/1.1\r\n\r\n") == b""
    assert "cannot send" in caplog.text


# Methods, browsers, headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
def test_other_methods_are_http_405_in_html(client: Client, method: str) -> None:
    reply = client.get("/c/en/dog", method=method, body=b"x" * 1000)
    assert (reply.status, reply.headers["Content-Type"]) == (405, "text/html; charset=utf-8")
    assert b"<title>405 Method Not Allowed</title>" in reply.body
    assert reply.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert client.json("/c/en/dog")["edges"]


def test_a_web_page_may_ask_with_headers_of_its_own(client: Client) -> None:
    asked = {
        "Origin": "http://page.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "content-type,x-own",
    }
    reply = client.get("/c/en/dog", method="OPTIONS", **asked)
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert reply.headers["Access-Control-Allow-Headers"] == "*"
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert client.json("/c/en/dog")["edges"]


def test_head_has_the_headers_of_get_and_no_body(client: Client) -> None:
    head, get = client.get("/c/en/dog", method="HEAD"), client.get("/c/en/dog")
    assert head.body == b""
    assert head.headers["Content-Length"] == get.headers["Content-Length"] == str(len(get.body))


def test_nothing_follows_the_headers_of_head(url: str) -> None:
    answer = send_raw(url, b"HEAD /c/en/dog HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n")


def test_any_web_page_may_ask(client: Client) -> None:
    for path in ("/c/en/dog", "/nope", "//c/en/dog"):
        assert client.get(path).headers["Access-Control-Allow-Origin"] == "*"


def test_a_browser_gets_html_with_the_json_inside(client: Client) -> None:
    reply = client.get("/c/en/%3Cscript%3E", Accept=BROWSER)
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<pre>{\n  &quot;@context&quot;" in reply.body
    assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert b"&lt;script&gt;" in reply.body
    assert b"<script>" not in reply.body
    assert client.get("/nope", Accept=BROWSER).status == 404


# Connections


def test_one_connection_serves_many_requests(client: Client) -> None:
    client.get("/c/en/dog")
    first = client.connection.sock
    for path in ("/c/en/cat", "/nope", "//c/en/dog", "/query"):
        client.get(path)
    assert client.connection.sock is first is not None


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    request = b"GET /c/en/cat HTTP/1.1\r\n\r\nGET /c/en/pet HTTP/1.1\r\nConnection: close\r\n\r\n"
    answers = send_raw(url, request)
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert answers.index(b'"@id":"/c/en/cat","edges"') < answers.index(b'"/c/en/pet","edges"')


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: 70000", b"Content-Length: -1", b"Transfer-Encoding: chunked"],
)
def test_a_body_nobody_will_read_ends_the_connection(url: str, header: bytes) -> None:
    answer = send_raw(url, b"GET / HTTP/1.1\r\n" + header + b"\r\n\r\n")
    assert b"Connection: close" in answer


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /" + b"x" * 65_531, b"414"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101, b"431"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET / <b> HTTP/1.1\r\n\r\n", b"400"),
    ],
)
def test_requests_without_measure_are_refused(url: str, request_line: bytes, status: bytes) -> None:
    answer = send_raw(url, request_line + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"<b>" not in answer


class Impatient(Handler):
    timeout = 0.1


@pytest.mark.parametrize("beginning", [b"", b"GET /c/en", b"GET / HTTP/1.1\r\nHost: x"])
def test_a_silent_client_is_hung_up_on(assertions: Index, beginning: bytes) -> None:
    with Mirror(assertions, handler=Impatient) as mirror:
        assert send_raw(mirror.url, beginning) == b""


def test_a_dribbling_client_is_hung_up_on_although_it_never_pauses_long(
    assertions: Index,
) -> None:
    with Mirror(assertions, handler=Impatient) as mirror:
        address = urlsplit(mirror.url)
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.settimeout(0.01)
            assert sum(1 for _ in iter(lambda: dribble(connection), False)) < 1_000


def dribble(connection: socket.socket) -> bool:
    """Send one byte; is the server still listening?"""
    try:
        connection.send(b"G")
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


def test_closing_hangs_up_on_kept_connections_and_may_be_done_twice(
    assertions: Index,
) -> None:
    with Mirror(assertions) as mirror:
        client = Client(mirror.url)
        client.get("/")
        kept = client.connection.sock
        assert kept is not None
    assert kept.recv(1) == b""
    client.close()
    mirror.close()


def test_a_mirror_that_serves_from_a_thread_of_ours_can_be_closed(assertions: Index) -> None:
    mirror = Mirror(assertions)
    serving = Thread(target=mirror.serve_forever)
    serving.start()
    client = Client(mirror.url)
    assert client.get("/").status == 200
    client.close()
    mirror.close()
    serving.join(timeout=30)
    assert not serving.is_alive()


def test_a_mirror_that_never_served_can_be_closed(assertions: Index) -> None:
    Mirror(assertions).close()


# Limits


def test_without_limits_nobody_is_refused(client: Client) -> None:
    assert {client.get("/").status for _ in range(100)} == {200}


def test_the_request_too_many_is_http_429_in_html(assertions: Index) -> None:
    with Mirror(assertions, limits=[(2, 60.0), (100, 3600.0)]) as mirror:
        client = Client(mirror.url)
        replies = [client.get("/c/en/dog", Accept="application/json") for _ in range(3)]
        client.close()
    assert [reply.status for reply in replies] == [200, 200, 429]
    refusal = replies[2]
    assert refusal.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Retry-After" not in refusal.headers
    assert refusal.body.decode() == (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
        "<title>429 Too Many Requests</title>\n"
        "<h1>Too Many Requests</h1>\n"
        "<p>2 per 1 minute</p>\n"
    )


def test_each_client_has_its_own_limit_and_gets_it_back_in_time() -> None:
    now = [1000.0]
    limits = ClientLimits([(1, 1.0), (2, 3600.0)], clock=lambda: now[0])
    assert limits.refusal("a") is None
    assert limits.refusal("a") == "1 per 1 second"
    assert limits.refusal("b") is None
    now[0] += 1.1
    assert limits.refusal("a") is None
    now[0] += 1.1
    assert limits.refusal("a") == "2 per 1 hour"
    now[0] += 3600
    assert limits.refusal("a") is None


def test_clients_long_gone_are_forgotten() -> None:
    now = [0.0]
    limits = ClientLimits([(1, 1.0)], clock=lambda: now[0])
    for number in range(3_000):
        now[0] += 0.01
        limits.refusal(str(number))
    assert len(limits._buckets) < 1_200


def test_requests_long_past_are_forgotten() -> None:
    now = [0.0]
    limits = ClientLimits([(5, 1.0)], clock=lambda: now[0])
    for _ in range(100):
        now[0] += 0.5
        limits.refusal("a")
    assert limits._buckets["a"].count() <= 5


def test_contradictory_limits_are_refused_at_once(assertions: Index) -> None:
    with pytest.raises(ValueError, match="rate list"):
        Mirror(assertions, limits=[(10, 60.0), (5, 3600.0)])
