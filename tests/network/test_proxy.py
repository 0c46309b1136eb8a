"""With proxies set everything goes through one that works, and nothing goes direct."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.network.exchanges import recorded
from tests.support.command import run
from tests.support.ports import closed_port
from tests.support.worlds.certificates import context_of
from tests.support.worlds.conceptnet import World
from tests.support.worlds.faults import HTML, FaultServer
from tests.support.worlds.media import MediaWorld
from tests.support.worlds.proxies import HttpProxy, Proxy, Socks5Proxy
from tools.errors import GiveUp, HarvestError, ServerTrouble, Unavailable
from tools.network import client as http
from tools.network.client import Client
from tools.network.settings import HttpSettings
from tools.proxy import FIRST_BENCH_S, LONGEST_BENCH_S, Proxies, without_password

A, B, C = "http://a:1", "http://b:1", "socks5h://c:1"
SECRET = "hunter2"

Connect = Callable[..., Client]


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def target() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def client_through(target: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Clients that use these proxies to ask the target, with small gaps between tries."""
    monkeypatch.setattr(http, "FIRST_GAP_S", 0.01)
    clients: list[Client] = []

    def make(*urls: str, tries: int = 4, clock: Clock | None = None) -> Client:
        proxies = Proxies(urls, clock) if clock else Proxies(urls)
        settings = HttpSettings(limits={}, tries=tries, answer_timeout_s=5.0)
        clients.append(Client(settings, proxies, Event(), trusted=[host(target)]))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def host(target: FaultServer) -> str:
    return f"127.0.0.1:{target.port}"


def ask(client: Client, target: FaultServer, path: str = "/ok") -> bytes:
    return client.get(target.url + path, "*/*").body


def rounds(proxies: Proxies, count: int) -> list[str]:
    return [proxies.next() for _ in range(count)]


def pause_after_failure(proxies: Proxies, clock: Clock, url: str) -> float:
    """How long a lone proxy sits on the bench; afterwards that time has passed."""
    proxies.bench(url, "test")
    with pytest.raises(Unavailable) as caught:
        proxies.next()
    assert caught.value.delay is not None
    clock.now += caught.value.delay
    return caught.value.delay


# ---- whose turn it is


def test_no_proxies_are_false() -> None:
    assert not Proxies(())
    assert Proxies((A,))


def test_proxies_take_turns() -> None:
    assert rounds(Proxies((A, B, C)), 7) == [A, B, C, A, B, C, A]


def test_threads_share_the_turns() -> None:
    proxies = Proxies((A, B))
    with ThreadPoolExecutor(8) as threads:
        served = list(threads.map(lambda _: proxies.next(), range(400)))
    assert served.count(A) == served.count(B) == 200


def test_a_benched_proxy_is_passed_over_until_its_pause_is_over(clock: Clock) -> None:
    proxies = Proxies((A, B), clock)
    proxies.bench(A, "test")
    assert set(rounds(proxies, 4)) == {B}
    clock.now += FIRST_BENCH_S - 0.1
    assert set(rounds(proxies, 4)) == {B}
    clock.now += 0.1
    assert set(rounds(proxies, 4)) == {A, B}


def test_pauses_double_up_to_an_hour(clock: Clock) -> None:
    proxies = Proxies((A,), clock)
    pauses = [pause_after_failure(proxies, clock, A) for _ in range(9)]
    assert pauses == [30, 60, 120, 240, 480, 960, 1920, 3600, LONGEST_BENCH_S]


def test_a_proxy_may_stay_dead_for_ever(clock: Clock) -> None:
    proxies = Proxies((A,), clock)
    pauses = [pause_after_failure(proxies, clock, A) for _ in range(1100)]  # 2 ** 1100 is no float
    assert set(pauses[8:]) == {LONGEST_BENCH_S}


def test_praise_makes_the_next_failure_the_first(clock: Clock) -> None:
    proxies = Proxies((A,), clock)
    assert pause_after_failure(proxies, clock, A) == FIRST_BENCH_S
    assert pause_after_failure(proxies, clock, A) == FIRST_BENCH_S * 2
    proxies.succeeded(A)
    assert pause_after_failure(proxies, clock, A) == FIRST_BENCH_S


def test_failures_of_requests_under_way_are_one_failure(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    proxies = Proxies((A,), clock)
    for _ in range(8):
        proxies.bench(A, "it went away")
    assert pause_after_failure(proxies, clock, A) == FIRST_BENCH_S
    assert len(caplog.records) == 1


def test_when_all_are_benched_the_first_to_return_is_awaited(clock: Clock) -> None:
    proxies = Proxies((A, B), clock)
    proxies.bench(A, "test")
    clock.now += 10
    proxies.bench(B, "test")
    with pytest.raises(Unavailable, match="none of the 2 proxies works") as caught:
        proxies.next()
    assert caught.value.delay == FIRST_BENCH_S - 10


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:hunter2@10.0.0.1:8080", "http://10.0.0.1:8080"),
        ("http://me:hunt@er2@10.0.0.1:8080", "http://10.0.0.1:8080"),
        ("socks5h://me@[::1]:1080", "socks5h://[::1]:1080"),
        ("http://10.0.0.1", "http://10.0.0.1"),
    ],
)
def test_a_proxy_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


# ---- really used


def connections_came_through(target: FaultServer, proxy: Proxy) -> bool:
    return bool(target.peers) and set(target.peers) <= proxy.outgoing


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
@pytest.mark.parametrize("credentials", [("", ""), ("me", SECRET)])
def test_requests_go_through_the_proxy(
    client_through: Connect,
    target: FaultServer,
    kind: type[Proxy],
    credentials: tuple[str, str],
) -> None:
    with kind(*credentials) as proxy:
        client = client_through(proxy.url_with_password if credentials[0] else proxy.url)
        assert [ask(client, target) for _ in range(3)] == [b"ok"] * 3
        client.close()
    assert proxy.asked >= 1
    assert connections_came_through(target, proxy)


def test_a_socks_connection_is_kept(client_through: Connect, target: FaultServer) -> None:
    with Socks5Proxy() as proxy:
        client = client_through(proxy.url)
        for _ in range(5):
            ask(client, target)
        client.close()
    assert proxy.tunnels == 1


def credentials_seen(target: FaultServer) -> list[str]:
    assert target.requests
    headers = [name for request in target.requests for name in request.headers]
    return [name for name in headers if name.startswith("proxy-") or name == "authorization"]


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
def test_the_target_gets_no_credentials_of_the_proxy(
    client_through: Connect, target: FaultServer, kind: type[Proxy]
) -> None:
    with kind("me", SECRET) as proxy:
        ask(client_through(proxy.url_with_password), target)
    assert credentials_seen(target) == []


def test_the_target_gets_no_credentials_of_another_proxy(
    client_through: Connect, target: FaultServer
) -> None:
    with HttpProxy("me", SECRET) as closed, HttpProxy() as open_to_all:
        client = client_through(closed.url_with_password, open_to_all.url)
        for _ in range(4):
            ask(client, target)
    assert (closed.asked, open_to_all.asked) == (2, 2)
    assert credentials_seen(target) == []


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
def test_the_target_gets_no_credentials_through_a_tunnel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Proxy]
) -> None:
    certificate, context = context_of(tmp_path, "IP:127.0.0.1")
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(certificate))
    settings = HttpSettings(limits={}, tries=1, answer_timeout_s=5.0)
    with FaultServer(context) as target, kind("me", SECRET) as proxy:
        proxies = Proxies((proxy.url_with_password,))
        client = Client(settings, proxies, Event(), trusted=[host(target)])
        assert ask(client, target) == b"ok"
        client.close()
    assert proxy.tunnels == 1
    assert credentials_seen(target) == []


def test_every_request_of_a_harvest_goes_through_the_proxy(
    tmp_path: Path, world: World, media: MediaWorld
) -> None:
    """For relations, searches and files alike."""
    asked, fetched = len(world.paths), len(media.paths)
    flags = ("--source", world.url, "--seed", "/c/en/flea", "--depth", 0)
    places = ("--state", tmp_path / "state", "--media", tmp_path / "m")
    config = media.settings(tmp_path, ground='"concepts"')
    with HttpProxy() as proxy:
        done = run("main.py", *flags, *places, "--config", config, SHEAF_PROXIES=proxy.url)
    assert done.returncode == 0, done.stderr
    hosts = {url: f"{name}/" for name, url in media.servers.items()} | {world.url: "/"}
    came = Counter(name for url, name in hosts.items() for each in proxy.fetched if url in each)
    seen = Counter(path.partition("/")[0] + "/" for path in media.paths[fetched:])
    assert came == seen + Counter({"/": len(world.paths) - asked})
    assert len(world.paths) > asked and seen
    assert any(path.is_file() for path in (tmp_path / "m/en/flea").rglob("*"))


def test_https_goes_through_a_tunnel(client_through: Connect, target: FaultServer) -> None:
    with HttpProxy() as proxy:
        client = client_through(proxy.url, tries=1)
        with pytest.raises(ServerTrouble):  # the target speaks no TLS
            client.get(target.url.replace("http:", "https:") + "/ok", "*/*")
        client.close()
    assert proxy.tunnels == 1
    assert connections_came_through(target, proxy)


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
def test_the_deadline_holds_through_a_proxy(target: FaultServer, kind: type[Proxy]) -> None:
    settings = HttpSettings(limits={}, tries=1, answer_timeout_s=0.5)
    with kind() as proxy:
        client = Client(settings, Proxies((proxy.url,)), Event(), trusted=[host(target)])
        exchanges = recorded(client)
        with pytest.raises(ServerTrouble, match="no complete answer in time"):
            ask(client, target, "/dribble")
        client.close()
        assert exchanges[0].seconds <= 10  # without a deadline it would never end


@pytest.mark.parametrize("dead", ["nobody listens", "hangs up"])
@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_one_dead_proxy_among_two_is_passed_over(
    client_through: Connect, target: FaultServer, dead: str, scheme: str
) -> None:
    with HttpProxy() as alive, HttpProxy(mode="dead") as mute:
        port = mute.port if dead == "hangs up" else closed_port()
        client = client_through(f"{scheme}://127.0.0.1:{port}", alive.url)
        assert [ask(client, target) for _ in range(6)] == [b"ok"] * 6
    assert alive.asked == 6
    assert mute.asked <= 1
    assert connections_came_through(target, alive)


def test_a_benched_proxy_gets_another_chance(
    client_through: Connect, target: FaultServer, clock: Clock
) -> None:
    with HttpProxy(mode="dead") as proxy:
        client = client_through(proxy.url, clock=clock)
        with pytest.raises(Unavailable):
            ask(client, target)
        proxy.mode = "works"
        clock.now += FIRST_BENCH_S
        assert ask(client, target) == b"ok"


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
def test_when_all_are_dead_nothing_goes_direct(
    client_through: Connect, target: FaultServer, kind: type[Proxy]
) -> None:
    with kind(mode="dead") as mute:
        scheme = mute.scheme
        client = client_through(mute.url, f"{scheme}://127.0.0.1:{closed_port()}")
        for _ in range(3):
            with pytest.raises(Unavailable, match="none of the 2 proxies works"):
                ask(client, target)
    assert target.connections == 0


def test_a_redirect_goes_through_the_proxy_too(
    client_through: Connect, target: FaultServer
) -> None:
    with HttpProxy() as proxy:
        assert ask(client_through(proxy.url), target, "/redirect/2") == b"arrived"
    assert proxy.asked == 3
    assert connections_came_through(target, proxy)


@pytest.mark.parametrize("secured", [False, True])
def test_a_proxy_that_wants_other_credentials_is_benched(
    client_through: Connect, target: FaultServer, caplog: pytest.LogCaptureFixture, secured: bool
) -> None:
    address = target.url.replace("http:", "https:") if secured else target.url
    with HttpProxy(mode="407") as proxy:
        client = client_through(proxy.url)
        for _ in range(2):
            with pytest.raises(Unavailable, match="none of the 1 proxies works"):
                client.get(address + "/ok", "*/*")
    assert proxy.asked == 1
    assert "407" in caplog.text
    assert target.connections == 0


def test_wrong_socks_credentials_bench_too(client_through: Connect, target: FaultServer) -> None:
    with Socks5Proxy("me", "other") as proxy:
        client = client_through(proxy.url.replace("//", f"//me:{SECRET}@"))
        with pytest.raises(Unavailable):
            ask(client, target)
    assert proxy.asked == 1
    assert target.connections == 0


def test_a_page_of_the_proxys_own_reaches_whoever_checks_content(
    client_through: Connect, target: FaultServer
) -> None:
    with HttpProxy(mode="own page") as proxy:
        assert ask(client_through(proxy.url), target) == HTML
    assert target.connections == 0


def test_what_the_target_refuses_is_not_the_proxys_fault(
    client_through: Connect, target: FaultServer
) -> None:
    with HttpProxy() as proxy:
        client = client_through(proxy.url)
        for path in ("/status/404", "/status/403"):
            with pytest.raises(GiveUp):
                ask(client, target, path)
        assert ask(client, target) == b"ok"


def test_addresses_nobody_can_ask_are_not_the_proxys_fault(
    client_through: Connect, target: FaultServer
) -> None:
    with HttpProxy() as proxy:
        client = client_through(proxy.url)
        with pytest.raises(GiveUp):
            ask(client, target, "/redirect-to?url=https://")
        assert ask(client, target) == b"ok"


# ---- secrets


@pytest.mark.parametrize("kind", [HttpProxy, Socks5Proxy])
@pytest.mark.parametrize("mode", ["works", "dead", "407", "nobody", "other password"])
def test_passwords_are_in_no_log_and_no_error(
    client_through: Connect,
    target: FaultServer,
    caplog: pytest.LogCaptureFixture,
    kind: type[Proxy],
    mode: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    password = "else" if mode == "other password" else SECRET
    with kind("me", password) as proxy:
        if mode in ("dead", "407"):
            proxy.mode = "dead" if mode == "dead" else "407"
        port = closed_port() if mode == "nobody" else proxy.port
        client = client_through(f"{proxy.scheme}://me:{SECRET}@127.0.0.1:{port}", tries=2)
        said = []
        for scheme in ("http", "https"):
            try:
                client.get(f"{scheme}://127.0.0.1:{target.port}/ok", "*/*")
            except HarvestError as error:
                said += [repr(error), repr(error.__cause__)]
        client.close()
    assert said
    assert caplog.text
    assert SECRET not in caplog.text + "".join(said)
