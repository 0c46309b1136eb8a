"""An answer belongs to the request it answers, whatever else a server says on the way."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.support.worlds.certificates import context_of
from tests.support.worlds.interim import ODD, InterimServer
from tests.support.worlds.proxies import HttpProxy, Socks5Proxy
from tools.errors import HarvestError, ServerTrouble
from tools.network import arrival
from tools.network import client as http
from tools.network.client import Client
from tools.network.settings import HttpSettings
from tools.proxy import Proxies

DEADLINE_S = 0.7
WAYS = ("direct", "tls", "http proxy", "tls through a tunnel", "socks")
Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return context_of(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(way: str, tls: tuple[Path, ssl.SSLContext]) -> Iterator[InterimServer]:
    with InterimServer(tls[1] if "tls" in way else None) as server:
        yield server


@pytest.fixture(params=["get", "ask"])
def ask(
    request: pytest.FixtureRequest,
    way: str,
    server: InterimServer,
    tls: tuple[Path, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Ask]:
    """What the server says to a path, over as few connections as the client can do with."""
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(tls[0]))
    monkeypatch.setattr(http, "FIRST_GAP_S", 0.01)
    settings = HttpSettings(limits={}, tries=1, answer_timeout_s=DEADLINE_S)
    host = f"127.0.0.1:{server.port}"
    with Socks5Proxy() if way == "socks" else HttpProxy() as proxy:
        proxies = None if way in ("direct", "tls") else Proxies((proxy.url,), clock=_Years())
        client = Client(settings, proxies, Event(), trusted=[host])
        if request.param == "get":
            yield lambda path: client.get(server.url + path, "*/*").body.decode()
        else:
            yield lambda path: client.ask("GET", server.url + path).body.decode()
        client.close()


class _Years:
    """Each look at this clock is a year later, so that no proxy stays on the bench."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 365 * 24 * 3600.0
        return self.now


def outcome(ask: Ask, path: str) -> str:
    try:
        return ask(path)
    except HarvestError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "path", ["/103", "/102", "/100", "/199", "/103/7", "/hints/20000", "/103/2"]
)
def test_interim_answers_are_passed_over(ask: Ask, path: str) -> None:
    asked = ["/first", path, "/second", path, "/third"]
    assert [outcome(ask, each) for each in asked] == asked


def test_interim_answers_cost_no_connection(way: str, ask: Ask, server: InterimServer) -> None:
    for path in ("/103", "/a", "/103/3", "/b"):
        assert ask(path) == path
    assert server.connections == 1 or way == "http proxy"  # this proxy keeps none


def test_nobody_switches_protocols(ask: Ask, server: InterimServer) -> None:
    said = [outcome(ask, path) for path in ("/first", "/101", "/second", "/third")]
    assert [said[0], *said[2:]] == ["/first", "/second", "/third"]
    assert said[1].startswith(("ServerTrouble", "NoAnswer")) and "HTTP 101" in said[1]


@pytest.mark.parametrize("path", [f"/103/{arrival.MOST_INTERIM + 1}", "/hints/70000"])
def test_interim_answers_have_an_end(ask: Ask, path: str) -> None:
    said = [outcome(ask, each) for each in ("/first", path, "/second", "/third")]
    assert [said[0], *said[2:]] == ["/first", "/second", "/third"]
    assert "too many interim answers" in said[1]


def test_the_deadline_holds_for_interim_and_final_answer_together(ask: Ask) -> None:
    begun = time.monotonic()
    with pytest.raises(ServerTrouble, match="no complete answer in time"):
        ask("/only/103")
    assert time.monotonic() - begun < DEADLINE_S + 10.0  # the interim answers never end
    assert outcome(ask, "/second") == "/second"


@pytest.mark.parametrize("kind", ODD)
def test_a_connection_with_something_odd_is_not_used_again(
    ask: Ask, server: InterimServer, way: str, kind: str
) -> None:
    said = [outcome(ask, path) for path in ("/first", f"/odd/{kind}", "/second", "/third")]
    assert [said[0], *said[2:]] == ["/first", "/second", "/third"]
    assert server.connections >= 2
