"""Proxies from an address: asked for by one at a time, used so often, nothing else believed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Event

import pytest

from tests.support.toml import loaded, refusal
from tests.support.worlds.faults import FaultServer
from tests.support.worlds.proxies import HttpProxy
from tests.support.worlds.raw import RawServer, said
from tools.errors import GiveUp, Interrupted, ServerTrouble, Unavailable
from tools.network.client import Client
from tools.network.proxy_list import MOST_LISTED, ProxyList, listed_in, proxies_of
from tools.network.settings import PROXIES_VARIABLE, HttpSettings, ProxySettings
from tools.proxy import FetchedProxies, Proxies

pytestmark = pytest.mark.timeout(60)

A, B, C = "http://a:1", "http://b:1", "socks5h://c:1"
HTTP = HttpSettings(answer_timeout_s=2.0)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Lists:
    """One answer after the other, the last for ever; an error is raised."""

    def __init__(self, *answers: list[str] | Exception) -> None:
        self.answers = answers
        self.asked = 0

    def __call__(self) -> list[str]:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


# ---- whose turn it is


def test_each_is_used_so_often(clock: Clock) -> None:
    lists = Lists([A, B], [C])
    proxies = FetchedProxies(lists, 3, clock)
    assert proxies and lists.asked == 0
    assert Counter(proxies.next() for _ in range(6)) == {A: 3, B: 3}
    assert lists.asked == 1
    assert [proxies.next() for _ in range(3)] == [C] * 3
    assert lists.asked == 2


def test_only_one_asks_at_a_time() -> None:
    at_once, most, asked = 0, 0, 0
    lock, slow = threading.Lock(), threading.Event()

    def fetch() -> list[str]:
        nonlocal at_once, most, asked
        with lock:
            at_once, asked = at_once + 1, asked + 1
            most = max(most, at_once)
        slow.wait(0.05)
        with lock:
            at_once -= 1
        return [f"http://p{asked}:1"]

    proxies = FetchedProxies(fetch, 10)
    with ThreadPoolExecutor(8) as threads:
        used = Counter(threads.map(lambda _: proxies.next(), range(100)))
    assert (most, asked) == (1, 10)
    assert set(used.values()) == {10}


def test_a_bad_answer_is_trouble_and_then_a_rest(clock: Clock) -> None:
    lists = Lists(GiveUp("HTTP 404"), ServerTrouble("reset"), [A])
    proxies = FetchedProxies(lists, 3, clock)
    for asked, rest in ((1, 30.0), (2, 60.0)):
        with pytest.raises(ServerTrouble, match="no list of proxies: "):
            proxies.next()
        with pytest.raises(Unavailable) as caught:
            proxies.next()
        assert (lists.asked, caught.value.delay) == (asked, rest)
        clock.now += rest
    assert proxies.next() == A


def test_stopping_is_no_trouble(clock: Clock) -> None:
    with pytest.raises(Interrupted):
        FetchedProxies(Lists(Interrupted("stopping")), 3, clock).next()


def test_a_dead_one_is_passed_over_and_a_new_list_asked_for_when_none_is_left(clock: Clock) -> None:
    lists = Lists([A, B], [A, C])
    proxies = FetchedProxies(lists, 100, clock)
    proxies.next()
    proxies.bench(A, "test")
    assert {proxies.next() for _ in range(5)} == {B}
    proxies.bench(B, "test")
    assert {proxies.next() for _ in range(5)} == {C}  # A still sits on the bench
    assert lists.asked == 2
    proxies.succeeded(B)  # nobody knows it any more
    proxies.bench(B, "test")


def test_a_list_of_dead_ones_is_not_asked_for_all_the_time(clock: Clock) -> None:
    lists = Lists([A])
    proxies = FetchedProxies(lists, 100, clock)
    proxies.next()
    proxies.bench(A, "test")
    for _ in range(5):
        with pytest.raises(Unavailable):
            proxies.next()
    assert lists.asked == 2
    clock.now += 31
    assert proxies.next() == A


# ---- what a list says


@pytest.mark.parametrize(
    "body",
    [
        b"http://10.0.0.1:80\nsocks5h://me:pw@10.0.0.2:1080\n",
        b"\xef\xbb\xbfhttp://10.0.0.1:80\r\n\r\n  socks5h://me:pw@10.0.0.2:1080  ",
        b'["http://10.0.0.1:80", "socks5h://me:pw@10.0.0.2:1080"]',
        b' [\n"10.0.0.1:80", 7, null, ["x"], "socks5h://me:pw@10.0.0.2:1080"]',
        b"10.0.0.1:80\nsocks5h://me:pw@10.0.0.2:1080",
    ],
)
def test_lines_and_json_are_read(body: bytes) -> None:
    assert list(listed_in(body)) == ["http://10.0.0.1:80", "socks5h://me:pw@10.0.0.2:1080"]


def test_ipv6_is_read() -> None:
    assert list(listed_in(b"[::1]:80\nhttp://[2001:db8::1]:3128")) == [
        "http://[::1]:80",
        "http://[2001:db8::1]:3128",
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"file:///etc/passwd",
        b"http://10.0.0.1:80/path",
        b"http://10.0.0.1:80?x",
        b"http://10.0.0.1:80#x",
        b"http://10.0.0.1",
        b"http://10.0.0.1:0",
        b"http://10.0.0.1:99999",
        b"http://a b:80",
        b"http://a\x00:80",
        b"http://a\\@b:80",
        b"http://a@b@c:80",
        b"http://me:p/w@c:80",
        b"ftp://10.0.0.1:80",
        b"javascript:80",
        b"<html><body>10.0.0.1:80</body>",
        "http://ä:80".encode(),
        b"http://" + b"a" * 1000 + b":80",
        b"\xff\xfe\x00",
        b"{}",
        b'{"a": 1}',
    ],
)
def test_what_is_no_proxy_is_left_out(line: bytes) -> None:
    found = list(listed_in(line))
    assert found == [] or (line == b"javascript:80" and found == ["http://javascript:80"])


def test_a_list_is_asked_for_once_and_believed(stack: ExitStack) -> None:
    server = stack.enter_context(RawServer(said(200, b"10.0.0.1:80\n" * 3)))
    assert ProxyList(server.url + "/l?key=1", HTTP, Event())() == ["http://10.0.0.1:80"] * 3
    assert server.got[0].startswith(b"GET /l?key=1 HTTP/1.1")


def test_an_endless_list_ends(stack: ExitStack) -> None:
    many = "\n".join(f"10.0.0.1:{port}" for port in range(1, 20_000)).encode()
    server = stack.enter_context(RawServer(said(200, many), said(200, bytes(2_000_000))))
    fetch = ProxyList(server.url, HTTP, Event())
    assert len(fetch()) == MOST_LISTED
    with pytest.raises(GiveUp, match="larger than 1,000,000"):
        fetch()


@pytest.mark.parametrize(
    "answer", [said(200, b"<html>"), said(404), said(500), said(200), said(429), b""]
)
def test_a_page_without_proxies_is_trouble_that_shows_no_key(
    stack: ExitStack, answer: bytes
) -> None:
    server = stack.enter_context(RawServer(answer))
    settings = ProxySettings(ask=f"http://me:hunter2@{server.host}/list?key=hunter3")
    with pytest.raises(ServerTrouble, match="no list of proxies") as caught:
        proxies_of(settings, HTTP, Event()).next()
    assert "hunter" not in str(caught.value)
    assert len(server.got) == 1


def test_requests_go_through_those_that_are_listed(stack: ExitStack) -> None:
    target = stack.enter_context(FaultServer())
    proxy, other = stack.enter_context(HttpProxy()), stack.enter_context(HttpProxy())
    first, second = (f"{each.url}\n".encode() for each in (proxy, other))
    server = stack.enter_context(RawServer(said(200, first), said(200, second)))
    proxies = proxies_of(ProxySettings(ask=server.url, uses=3), HTTP, Event())
    client = Client(HTTP, proxies, Event(), trusted=[f"127.0.0.1:{target.port}"])
    with closing(client):
        for _ in range(2):
            assert client.get(f"{target.url}/ok", "*/*").body == b"ok"
            assert client.ask("GET", f"{target.url}/ok").body == b"ok"
    assert (proxy.asked, other.asked, len(server.got)) == (3, 1, 2)


def test_new_proxies_for_ever_leave_few_connections(stack: ExitStack) -> None:
    """Each name of the same proxy is another one to us."""
    target, proxy = stack.enter_context(FaultServer()), stack.enter_context(HttpProxy())
    numbers = iter(range(10**6))
    proxies = FetchedProxies(lambda: [f"http://u{next(numbers)}:p@127.0.0.1:{proxy.port}"], 1)
    client = Client(HTTP, proxies, Event(), trusted=[f"127.0.0.1:{target.port}"])
    with closing(client):
        for _ in range(150):
            assert client.ask("GET", f"{target.url}/ok").body == b"ok"
        assert len(client._adapter.proxy_manager) <= 64
        assert len(client._adapter._routes) <= 64


# ---- settings


@pytest.mark.usefixtures("no_settings")
class TestSettings:
    def test_they_are_read(self) -> None:
        proxy = loaded('[proxy]\nask = "https://h.example/list"\nuses = 7').proxy
        assert (proxy.ask, proxy.uses) == ("https://h.example/list", 7)
        assert loaded("").proxy.uses == 100

    @pytest.mark.parametrize("uses", [0, -1, 10**10])
    def test_uses_have_bounds(self, uses: int) -> None:
        assert refusal(f"[proxy]\nuses = {uses}").startswith("proxy.uses must be ")

    @pytest.mark.parametrize("ask", ["h.example/list", "file:///x", "http://"])
    def test_a_list_has_a_web_address(self, ask: str) -> None:
        sentence = refusal(f'[proxy]\nask = "{ask}"')
        assert sentence == "proxy.ask must be like https://host/list"

    def test_one_way_to_have_proxies_is_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(PROXIES_VARIABLE, "http://10.0.0.2:80")
        assert refusal('[proxy]\nask = "http://h/l"').startswith(
            "proxy.ask and proxies of your own"
        )

    def test_without_a_list_they_are_those_of_the_user(self) -> None:
        proxies = proxies_of(ProxySettings(urls=(A,)), HTTP, Event())
        assert type(proxies) is Proxies and proxies.next() == A
