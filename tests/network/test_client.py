"""The way out to the network keeps its promises, whatever the other side does."""

from __future__ import annotations

import itertools
import logging
import socket
import ssl
import threading
import time
import tracemalloc
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest

from tests.network.exchanges import recorded
from tests.support.ports import closed_port
from tests.support.worlds.certificates import context_of
from tests.support.worlds.faults import PACKED, FaultServer
from tests.support.worlds.proxies import HttpProxy
from tools.errors import (
    BadStatus,
    GiveUp,
    HarvestError,
    Interrupted,
    ServerTrouble,
    Unavailable,
    UsageError,
)
from tools.network import client as http
from tools.network import rests
from tools.network.client import Answer, Asking, Client
from tools.network.settings import HttpSettings

DEADLINE_S = 0.5
PATIENCE_S = 30.0
SLACK_S = 10.0  # of a busy machine: without a deadline nothing here would ever end
MiB = 2**20


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def stop() -> Event:
    return Event()


@pytest.fixture
def new_client(
    server: FaultServer, stop: Event, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Client]]:
    """Clients with small gaps between tries, no limits, and an end."""
    monkeypatch.setattr(http, "FIRST_GAP_S", 0.01)
    clients: list[Client] = []

    def make(port: int = server.port, **settings: Any) -> Client:
        """It may ask this port of the loopback, if no other then that of `server`."""
        usual: dict[str, Any] = {"limits": {}, "answer_timeout_s": 5.0, "tries": 1}
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        clients.append(Client(HttpSettings(**usual | settings), None, stop, trusted=hosts))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(new_client: Callable[..., Client]) -> Client:
    return new_client()


def get(client: Client, server: FaultServer, path: str, **how: Any) -> Answer:
    return client.get(server.url + path, "application/json", **how)


def host(server: FaultServer) -> str:
    return f"127.0.0.1:{server.port}"


def seconds_taken(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def peak_memory(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def all_at_once(count: int, act: Callable[[], Any]) -> list[Any]:
    """What `count` threads got, or what they were refused with."""

    def outcome() -> Any:
        try:
            return act()
        except HarvestError as error:
            return error

    with ThreadPoolExecutor(count) as threads:
        return [future.result() for future in [threads.submit(outcome) for _ in range(count)]]


# ---- what an answer is


def test_an_answer_has_status_headers_body_and_address(client: Client, server: FaultServer) -> None:
    answer = get(client, server, "/json")
    assert (answer.status, answer.body) == (200, b'{"edges": []}')
    assert answer.headers["content-type"] == "application/json"
    assert answer.url == server.url + "/json"


def test_no_bytes_are_an_answer_too(client: Client, server: FaultServer) -> None:
    assert get(client, server, "/empty").body == b""


@pytest.mark.parametrize("path", ["/html", "/not-json"])
def test_what_the_bytes_mean_is_for_others_to_judge(
    client: Client, server: FaultServer, path: str
) -> None:
    assert get(client, server, path).status == 200


@pytest.mark.parametrize("status", [201, 204, 226])
def test_every_2xx_is_an_answer(client: Client, server: FaultServer, status: int) -> None:
    assert get(client, server, f"/status/{status}").status == status


@pytest.mark.parametrize("status", [300, 304, 305, 400, 401, 403, 404, 407, 410, 451, 501, 505])
def test_what_is_final_is_given_up_at_once(
    new_client: Callable[..., Client], server: FaultServer, status: int
) -> None:
    with pytest.raises(BadStatus, match=f"HTTP {status} for http://127.0.0.1") as caught:
        get(new_client(tries=4), server, f"/status/{status}")
    assert caught.value.status == status
    assert server.hits.total() == 1


def test_requests_say_honestly_who_asks(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    get(new_client(contact="harvest@example.org"), server, "/ok")
    get(new_client(), server, "/ok")
    named, unnamed = (request.headers for request in server.requests)
    assert named["user-agent"] == "Sheaf/0.1 (knowledge graph harvester; harvest@example.org)"
    assert unnamed["user-agent"] == "Sheaf/0.1 (knowledge graph harvester)"
    assert named["accept"] == "application/json"
    assert named["accept-encoding"] == "gzip, deflate"


def test_cookies_are_not_kept(client: Client, server: FaultServer) -> None:
    get(client, server, "/ok")
    get(client, server, "/ok")
    assert not any("cookie" in request.headers for request in server.requests)


def test_one_connection_serves_many_requests(client: Client, server: FaultServer) -> None:
    for path in ("/ok", "/json", "/empty", "/status/204", "/redirect/2") * 3:
        get(client, server, path)
    with pytest.raises(GiveUp):
        get(client, server, "/status/404")
    get(client, server, "/ok")
    assert server.connections == 1


def test_threads_share_a_client(new_client: Callable[..., Client], server: FaultServer) -> None:
    client = new_client()
    answers = all_at_once(8, lambda: get(client, server, "/together/8/ok"))
    assert [answer.body for answer in answers] == [b"ok"] * 8
    assert server.most_at_once == 8


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
def test_proxies_of_the_environment_are_not_used(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with HttpProxy() as proxy:
        monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv(name.lower(), proxy.url)
        assert get(client, server, "/ok").body == b"ok"
    assert proxy.asked == 0


# ---- time


@pytest.mark.parametrize("path", ["/dribble", "/dribble-headers", "/hang", "/hang-after-headers"])
def test_the_deadline_holds_for_the_whole_answer(
    new_client: Callable[..., Client], server: FaultServer, path: str
) -> None:
    client = new_client(answer_timeout_s=DEADLINE_S)

    def ask() -> None:
        with pytest.raises(ServerTrouble, match=r"127\.0\.0\.1: no complete answer in time"):
            get(client, server, path)

    assert DEADLINE_S - 0.05 <= seconds_taken(ask) <= DEADLINE_S + SLACK_S


def test_a_deadline_is_for_one_answer_not_for_the_connection(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(answer_timeout_s=DEADLINE_S)
    get(client, server, "/ok")
    assert not Event().wait(DEADLINE_S)
    get(client, server, "/ok")
    assert server.connections == 1


def test_a_host_that_never_accepts_is_not_awaited_for_long(
    new_client: Callable[..., Client],
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, ExitStack() as crowd:
        port = deaf.getsockname()[1]
        client = new_client(port, connect_timeout_s=DEADLINE_S, answer_timeout_s=60.0)
        for _ in range(4):  # more than its queue holds
            one = crowd.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(deaf.getsockname())

        def ask() -> None:
            with pytest.raises(ServerTrouble, match="no complete answer in time"):
                client.get(f"http://127.0.0.1:{port}/ok", "*/*")

        assert seconds_taken(ask) <= DEADLINE_S + SLACK_S


def test_nobody_listens(new_client: Callable[..., Client]) -> None:
    port = closed_port()
    with pytest.raises(ServerTrouble, match=r"127\.0\.0\.1: ConnectionRefusedError"):
        new_client(port).get(f"http://127.0.0.1:{port}/ok", "*/*")


def test_stopping_interrupts_the_wait_between_tries(
    new_client: Callable[..., Client],
    server: FaultServer,
    stop: Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "FIRST_GAP_S", 60.0)
    client = new_client(tries=4)
    timer = threading.Timer(0.1, stop.set)
    timer.start()

    def ask() -> None:
        with pytest.raises(Interrupted):
            get(client, server, "/status/503")

    assert seconds_taken(ask) < 30  # half of the gap
    timer.join()
    assert server.hits.total() == 1


def test_stopping_interrupts_the_wait_for_a_limit(
    new_client: Callable[..., Client], server: FaultServer, stop: Event
) -> None:
    client = new_client(limits={host(server): ("1/minute",)})
    get(client, server, "/ok")
    stop.set()
    with pytest.raises(Interrupted):
        get(client, server, "/ok")
    assert server.hits.total() == 1


# ---- size


@pytest.mark.parametrize("path", ["/stream", "/bomb/gzip"])
def test_bodies_beyond_the_limit_are_given_up_with_flat_memory(
    new_client: Callable[..., Client], server: FaultServer, path: str
) -> None:
    client = new_client(max_bytes=MiB, tries=4)
    get(client, server, "/ok")  # what a first request allocates is not the question
    if path == "/bomb/gzip":
        with pytest.raises(GiveUp):
            get(client, server, path)  # packs the bomb

    def ask() -> None:
        with pytest.raises(GiveUp, match="larger than 1,048,576 bytes"):
            get(client, server, path)

    assert peak_memory(ask) < 8 * MiB


def test_a_body_in_tiny_chunks_takes_no_more_memory_than_its_bytes(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(max_bytes=100_000)

    def ask() -> None:
        with pytest.raises(GiveUp, match="larger than 100,000 bytes"):
            get(client, server, "/crumbs")

    assert peak_memory(ask) < MiB


def test_a_body_of_just_the_limit_is_an_answer(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    assert get(new_client(max_bytes=2), server, "/ok").body == b"ok"
    with pytest.raises(GiveUp, match="larger than 1 bytes"):
        get(new_client(max_bytes=1), server, "/ok")


@pytest.mark.parametrize("path", ["/truncated?length=1", "/truncated-chunks"])
def test_a_body_shorter_than_announced_is_no_answer(
    new_client: Callable[..., Client], server: FaultServer, path: str
) -> None:
    with pytest.raises(ServerTrouble, match="IncompleteRead"):
        get(new_client(tries=2), server, path)
    assert server.hits.total() == 2


@pytest.mark.parametrize(
    ("coding", "cuts"),
    [("gzip", range(1, 10)), ("gzip-members", range(1, 10)), ("deflate", range(1, 6))],
)
@pytest.mark.parametrize("chunks", ["", "?chunks=1"])
def test_a_packed_body_without_its_end_is_no_answer(
    new_client: Callable[..., Client], server: FaultServer, coding: str, cuts: range, chunks: str
) -> None:
    client = new_client(tries=2)
    for cut in cuts:
        with pytest.raises(ServerTrouble, match="packed body is cut short"):
            get(client, server, f"/packed/{coding}/{cut}{chunks}")
    assert server.hits.total() == 2 * len(cuts)


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize("cut", [0, -1])
@pytest.mark.parametrize("chunks", ["", "?chunks=1"])
def test_a_whole_packed_body_is_an_answer_whatever_stands_behind_it(
    client: Client, server: FaultServer, coding: str, cut: int, chunks: str
) -> None:
    body = b"" if coding == "gzip-empty" else b"ok"
    assert get(client, server, f"/packed/{coding}/{cut}{chunks}").body == body


def test_headers_cut_short_are_no_answer(client: Client, server: FaultServer) -> None:
    with pytest.raises(ServerTrouble, match="cut off within the headers"):
        get(client, server, "/truncated-headers")


def test_a_body_cut_short_unannounced_passes_as_it_must(
    client: Client, server: FaultServer
) -> None:
    assert get(client, server, "/truncated").body == b"x" * 400


def test_stacked_encodings_are_not_unpacked(client: Client, server: FaultServer) -> None:
    with pytest.raises(ServerTrouble):
        get(client, server, "/onion")


def test_a_torn_connection_is_trouble(client: Client, server: FaultServer) -> None:
    with pytest.raises(ServerTrouble, match="ConnectionResetError"):
        get(client, server, "/reset")


# ---- trying again


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504, 522])
def test_trouble_is_tried_again_until_it_passes(
    new_client: Callable[..., Client], server: FaultServer, status: int
) -> None:
    path = f"/status/{status}/then/2"
    assert get(new_client(tries=4), server, path).body == b"ok"
    assert server.hits[path] == 3


@pytest.mark.parametrize("tries", [1, 3])
def test_tries_are_counted(
    new_client: Callable[..., Client], server: FaultServer, tries: int
) -> None:
    with pytest.raises(ServerTrouble, match=r"127\.0\.0\.1 answered HTTP 500"):
        get(new_client(tries=tries), server, "/status/500")
    assert server.hits.total() == tries


def test_a_caller_may_ask_for_fewer_tries(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    with pytest.raises(ServerTrouble):
        new_client(tries=4).get(server.url + "/status/500", "*/*", tries=1)
    assert server.hits.total() == 1


def test_gaps_between_tries_grow(
    new_client: Callable[..., Client], server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "FIRST_GAP_S", 0.05)
    with pytest.raises(ServerTrouble):
        get(new_client(tries=4), server, "/status/502")
    times = [request.arrived for request in server.requests]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    for gap, least in zip(gaps, [0.025, 0.05, 0.1], strict=True):
        assert gap >= least


# ---- hosts that ask for a pause


def pause_asked(client: Client, server: FaultServer, path: str) -> float:
    with pytest.raises(Unavailable, match="asks for a pause") as caught:
        get(client, server, path)
    assert caught.value.delay is not None
    return caught.value.delay


def test_after_429_the_host_is_not_even_asked(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(tries=4)
    assert 54 <= pause_asked(client, server, "/429") <= 66
    with pytest.raises(Unavailable, match=rf"{host(server)} rests for another \d+ s") as caught:
        get(client, server, "/ok")
    assert caught.value.delay is not None
    assert 50 <= caught.value.delay <= 66
    assert server.hits == {"/429": 1}


def test_other_hosts_go_on_meanwhile(client: Client, server: FaultServer) -> None:
    pause_asked(client, server, "/429")
    assert client.get(f"http://localhost:{server.port}/ok", "*/*").body == b"ok"


@pytest.mark.parametrize(
    ("path", "least", "most"),
    [
        ("/429/retry-after/7", 7, 7),
        ("/429/retry-after/0", 0, 0),
        ("/429/date", 110, 121),
        ("/429/retry-after/Mon, 16 Nov 2015 01:37:53 GMT", 0, 0),
        ("/429/year", 3600, 3600),
        ("/429/retry-after/" + "9" * 400, 3600, 3600),
        ("/429/retry-after/soon", 54, 66),
        ("/429/retry-after/-5", 54, 66),
        ("/429/retry-after/²", 54, 66),
        ("/429/retry-after/Mon, 16 Nov 2026 01:00:00 +99999999999999999999", 54, 66),
        ("/503/retry-after/7", 7, 7),
    ],
)
def test_how_long_a_host_is_left_alone(
    client: Client, server: FaultServer, path: str, least: float, most: float
) -> None:
    assert least <= pause_asked(client, server, quote(path)) <= most


def test_pauses_nobody_measured_grow_until_an_answer_comes(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rests, "FIRST_REST_S", 0.02)
    rest = Event()
    pauses = []
    for _ in range(3):
        pauses.append(pause_asked(client, server, "/429"))
        rest.wait(pauses[-1] + 0.01)
    assert pauses[0] < pauses[1] < pauses[2]
    get(client, server, "/ok")
    assert pause_asked(client, server, "/429") <= 0.022


def test_a_host_may_ask_for_pauses_for_ever(client: Client, server: FaultServer) -> None:
    for _ in range(1100):  # 2 ** 1100 is no float
        pause_asked(client, server, "/429/retry-after/0")
    assert pause_asked(client, server, "/429") == pytest.approx(3600)


def test_refusals_of_requests_under_way_are_one_pause(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client()
    refusals = all_at_once(8, lambda: get(client, server, "/together/8/429"))
    assert all(isinstance(refusal, Unavailable) for refusal in refusals)
    assert max(refusal.delay for refusal in refusals) <= 66


class WatchedEvent(Event):
    """An event that tells when somebody begins to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.awaited.set()
        return super().wait(timeout)


def test_who_waits_for_a_limit_meanwhile_does_not_ask_a_host_that_rests(
    server: FaultServer,
) -> None:
    stop = WatchedEvent()
    settings = HttpSettings(limits={host(server): ("1/second",)})
    client = Client(settings, None, stop, trusted=[host(server)])
    with ThreadPoolExecutor(2) as threads:
        refused = threads.submit(get, client, server, "/held/429")
        assert server.asked.wait(PATIENCE_S)
        waiting = threads.submit(get, client, server, "/ok")
        assert stop.awaited.wait(PATIENCE_S)
        server.released.set()
        assert isinstance(refused.exception(), Unavailable)
        assert isinstance(waiting.exception(), Unavailable)
    client.close()
    assert server.hits["/ok"] == 0


def test_an_answer_to_an_older_request_shortens_no_pause(
    client: Client, server: FaultServer
) -> None:
    with ThreadPoolExecutor(2) as threads:
        refused = threads.submit(get, client, server, "/together/2/429")
        assert server.asked.wait(PATIENCE_S)
        server.asked.clear()
        answered = threads.submit(get, client, server, "/held/ok")
        assert server.asked.wait(PATIENCE_S)
        pause_asked(client, server, "/429")
        server.released.set()
        assert answered.result().body == b"ok"
        with pytest.raises(HTTPError):  # the second one there, so both are answered
            urllib.request.urlopen(server.url + "/together/2/429", timeout=PATIENCE_S)
        again = refused.exception()
        assert isinstance(again, Unavailable)
        assert again.delay is not None
        assert 54 <= again.delay <= 66


# ---- limits


def test_a_host_gets_no_more_requests_than_its_limit_allows(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(limits={host(server): ("20/second",)})
    begun = time.monotonic()
    all_at_once(8, lambda: [get(client, server, "/ok") for _ in range(6)])
    times = sorted(request.arrived for request in server.requests)
    assert len(times) == 48
    assert times[-1] - begun >= 1.9
    # On a busy machine a request may arrive late; without the limit all would within a moment.
    assert all(later - earlier > 0.5 for earlier, later in zip(times, times[20:], strict=False))


def test_limits_are_for_their_host_only(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(limits={"example.org": ("1/hour",)})
    for _ in range(5):
        get(client, server, "/ok")


def test_every_try_counts_for_the_limit(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(tries=4, limits={host(server): ("3/second",)})
    begun = time.monotonic()
    with pytest.raises(ServerTrouble):
        get(client, server, "/status/500")
    assert server.requests[-1].arrived - begun >= 0.9


@pytest.mark.parametrize(
    "rates",
    [
        ("120",),
        ("0/minute",),
        ("-1/minute",),
        ("many/minute",),
        ("²/minute",),
        ("5/fortnight",),
        ("10/second", "5/minute"),
        (),
    ],
)
def test_limits_that_make_no_sense_are_refused(
    new_client: Callable[..., Client], rates: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match=r"http\.limits for example\.org"):
        new_client(limits={"example.org": rates})


# ---- redirects


def test_five_redirects_are_followed(client: Client, server: FaultServer) -> None:
    answer = get(client, server, "/redirect/5")
    assert (answer.body, answer.url) == (b"arrived", server.url + "/redirect/0")


@pytest.mark.parametrize("path", ["/redirect/6", "/redirect/30", "/redirect-loop"])
def test_a_sixth_redirect_is_refused(client: Client, server: FaultServer, path: str) -> None:
    with pytest.raises(GiveUp, match="redirected too often"):
        get(client, server, path)
    assert server.hits.total() == 6


def test_a_redirect_may_lead_to_another_host(client: Client, server: FaultServer) -> None:
    elsewhere = f"http://localhost:{server.port}/json"
    assert get(client, server, f"/redirect-to?url={quote(elsewhere)}").url == elsewhere


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "javascript:alert(1)",
        "https://",
        "https:///ok",
        "http://[",
        "http://127.0.0.1:port/",
        "http://127.0.0.1:99999/",
    ],
)
def test_a_redirect_to_no_web_address_is_refused(
    new_client: Callable[..., Client], server: FaultServer, target: str
) -> None:
    client = new_client(tries=4)
    with pytest.raises(GiveUp, match="no web address"):
        get(client, server, f"/redirect-to?url={quote(target)}")
    assert server.hits.total() == 1


def test_a_redirect_without_an_address_is_refused(client: Client, server: FaultServer) -> None:
    with pytest.raises(GiveUp, match="no web address"):
        get(client, server, "/redirect-nowhere")
    assert server.hits.total() == 1


@pytest.mark.parametrize("address", ["file:///etc/passwd", "/c/en/dog", "http://[", ""])
def test_only_web_addresses_are_asked(client: Client, address: str) -> None:
    with pytest.raises(GiveUp, match="no web address"):
        client.get(address, "*/*")


# ---- credentials

KEY = {"Authorization": "Bearer hunter2", "X-Own": "1"}


def carried_credentials(server: FaultServer) -> list[bool]:
    return ["authorization" in request.headers for request in server.requests]


def test_further_headers_go_with_every_try_and_redirect_to_the_same_host(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(tries=2)
    get(client, server, "/redirect/1", headers=KEY)
    get(client, server, "/status/500/then/1", headers=KEY)
    assert carried_credentials(server) == [True] * 4
    assert server.requests[0].headers["user-agent"].startswith("Sheaf/")
    get(client, server, "/ok")
    assert carried_credentials(server)[-1] is False


def test_another_host_gets_no_credentials_and_nobody_after_it(
    client: Client, server: FaultServer
) -> None:
    back = f"{server.url}/ok"
    away = f"http://localhost:{server.port}/redirect-to?url={quote(back)}"
    get(client, server, f"/redirect-to?url={quote(away, safe='')}", headers=KEY)
    assert carried_credentials(server) == [True, False, False]


def test_another_port_gets_no_credentials(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    with FaultServer() as other:
        client = new_client(private_hosts=(host(other),))
        get(client, server, f"/redirect-to?url={quote(other.url + '/ok')}", headers=KEY)
        assert carried_credentials(server) + carried_credentials(other) == [True, False]


def test_credentials_do_not_leave_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host and its port stay the same here, so only the scheme tells."""
    asked: list[tuple[str, bool]] = []

    def get_once(client: Client, asking: Asking) -> Answer:
        asked.append((asking.url, "Authorization" in asking.headers))
        location = {
            "HTTPS://a.example/1": "https://a.example/2",
            "https://a.example/2": "http://a.example/3",
        }.get(asking.url, "")
        return Answer(302 if location else 200, {"Location": location}, b"", asking.url)

    monkeypatch.setattr(Client, "_get_once", get_once)
    Client(HttpSettings(), None, Event()).get("HTTPS://a.example/1", "*/*", headers=KEY)
    assert [carried for _, carried in asked] == [True, True, False]


# ---- what others see of it


def test_every_exchange_is_reported(new_client: Callable[..., Client], server: FaultServer) -> None:
    client = new_client(answer_timeout_s=DEADLINE_S)
    reported = recorded(client)
    for path in ("/ok", "/redirect/1"):
        get(client, server, path)
    for path in ("/status/404", "/status/500", "/hang", "/429", "/ok"):
        with pytest.raises(HarvestError):
            get(client, server, path)
    assert [(each.status, each.size) for each in reported] == [
        (200, 2),
        (302, 0),
        (200, 7),
        (404, 7),
        (500, 7),
        (0, 0),
        (429, 144),
    ]
    assert {each.host for each in reported} == {host(server)}
    assert reported[5].seconds >= DEADLINE_S - 0.05
    assert all(each.seconds >= 0 for each in reported)


def test_no_password_is_in_a_log_or_an_error(
    client: Client, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = server.url.replace("//", "//me:hunter2@")
    assert client.get(address + "/ok", "*/*").body == b"ok"
    said = caplog.text
    for path in ("/status/404", "/status/500", "/truncated?length=1", "/redirect-loop", "/429"):
        with pytest.raises(HarvestError) as caught:
            client.get(address + path, "*/*")
        said += str(caught.value)
    with pytest.raises(GiveUp) as caught_early:
        client.get("ftp://me:hunter2@127.0.0.1/x", "*/*")
    said += str(caught_early.value) + caplog.text
    assert "/redirect-loop" in said
    assert "hunter2" not in said


# ---- TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for one name, and a server's context that shows it."""
    return context_of(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.fixture
def tls_server(tls: tuple[Path, ssl.SSLContext]) -> Iterator[FaultServer]:
    with FaultServer(tls[1]) as server:
        yield server


@pytest.fixture
def trusted(tls: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(tls[0]))


@pytest.fixture
def tls_client(new_client: Callable[..., Client], tls_server: FaultServer) -> Client:
    return new_client(tls_server.port)


def test_a_certificate_nobody_vouches_for_is_refused(
    tls_client: Client, tls_server: FaultServer
) -> None:
    with pytest.raises(ServerTrouble, match="CERTIFICATE_VERIFY_FAILED"):
        get(tls_client, tls_server, "/ok")
    assert tls_server.hits.total() == 0


def test_a_certificate_for_another_name_is_refused(
    tls_client: Client, tls_server: FaultServer, trusted: None
) -> None:
    with pytest.raises(ServerTrouble, match="CERTIFICATE_VERIFY_FAILED"):
        tls_client.get(f"https://localhost:{tls_server.port}/ok", "*/*")
    assert tls_server.hits.total() == 0


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_environment_vouches_for_nobody(
    tls_client: Client,
    tls_server: FaultServer,
    tls: tuple[Path, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, str(tls[0]))
    with pytest.raises(ServerTrouble, match="CERTIFICATE_VERIFY_FAILED"):
        get(tls_client, tls_server, "/ok")


def test_a_good_certificate_is_accepted(
    tls_client: Client, tls_server: FaultServer, trusted: None
) -> None:
    for _ in range(3):
        assert get(tls_client, tls_server, "/ok").body == b"ok"
    assert tls_server.connections == 1


@pytest.mark.parametrize("path", ["/dribble", "/dribble-headers", "/hang"])
def test_the_deadline_holds_with_tls(
    new_client: Callable[..., Client], tls_server: FaultServer, trusted: None, path: str
) -> None:
    client = new_client(tls_server.port, answer_timeout_s=DEADLINE_S)

    def ask() -> None:
        with pytest.raises(ServerTrouble, match="no complete answer in time"):
            get(client, tls_server, path)

    assert seconds_taken(ask) <= DEADLINE_S + SLACK_S


# ---- the world itself


@pytest.mark.parametrize("path", ["/dribble", "/hang", "/stream"])
def test_the_fault_server_ends_before_those_it_serves(
    new_client: Callable[..., Client], path: str
) -> None:
    with ThreadPoolExecutor(1) as thread:
        with FaultServer() as server:
            client = new_client(server.port, answer_timeout_s=60.0, max_bytes=10**10)
            asking = thread.submit(get, client, server, path)
            assert server.asked.wait(PATIENCE_S)
            begun = time.monotonic()
        assert time.monotonic() - begun < SLACK_S
        assert path == "/stream" or isinstance(asking.exception(), ServerTrouble)
