"""A body goes piece by piece to whoever wants it, and only a good one does."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import Any

import pytest

from tests.network.exchanges import recorded
from tests.support.worlds.faults import FaultServer, pieces
from tools.errors import BadStatus, GiveUp, HarvestError, ServerTrouble, StopHarvest, Unavailable
from tools.network import client as http
from tools.network.body import CHUNK, MOST_UNREAD
from tools.network.client import Client
from tools.network.settings import HttpSettings

MiB = 2**20


class Notes:
    """Remembers what it is told, and refuses from some point on."""

    def __init__(self, most: int = 10 * MiB, at_begin: Exception | None = None) -> None:
        self.tries: list[bytearray] = []
        self.headers: list[Mapping[str, str]] = []
        self.largest = 0
        self._most = most
        self._at_begin = at_begin

    def begin(self, headers: Mapping[str, str]) -> None:
        self.headers.append(headers)
        self.tries.append(bytearray())
        if self._at_begin:
            raise self._at_begin

    def write(self, chunk: bytes) -> None:
        self.largest = max(self.largest, len(chunk))
        self.tries[-1] += chunk
        if len(self.tries[-1]) > self._most:
            raise GiveUp("too large for us")


class Counter:
    """Keeps nothing."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self._most = most

    def begin(self, headers: Mapping[str, str]) -> None:
        self.count = 0

    def write(self, chunk: bytes) -> None:
        self.count += len(chunk)
        if self.count > self._most:
            raise GiveUp("too large for us")


class Full:
    """A file on a disk that is full."""

    def __init__(self, error: Exception, at: str) -> None:
        self._error = error
        self._at = at

    def begin(self, headers: Mapping[str, str]) -> None:
        if self._at == "begin":
            raise self._error

    def write(self, chunk: bytes) -> None:
        raise self._error


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def new_client(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Client]]:
    monkeypatch.setattr(http, "FIRST_GAP_S", 0.001)
    clients: list[Client] = []

    def make(**settings: Any) -> Client:
        trusted = [f"127.0.0.1:{server.port}"]
        usual: dict[str, Any] = {"limits": {}, "answer_timeout_s": 5.0, "tries": 1}
        clients.append(Client(HttpSettings(**usual | settings), None, Event(), trusted=trusted))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(new_client: Callable[..., Client]) -> Client:
    return new_client()


def test_a_body_arrives_in_pieces_and_in_order(client: Client, server: FaultServer) -> None:
    notes = Notes()
    answer = client.get(f"{server.url}/pieces/1000003", "image/*", into=notes)
    assert notes.tries == [pieces(1_000_003)]
    assert notes.largest == CHUNK
    assert (answer.status, answer.body) == (200, b"")
    assert answer.url == f"{server.url}/pieces/1000003"
    assert notes.headers[0]["content-length"] == "1000003"


def test_files_are_asked_for_unpacked(client: Client, server: FaultServer) -> None:
    client.get(f"{server.url}/ok", "image/*", into=Notes())
    headers = server.requests[0].headers
    assert (headers["accept-encoding"], headers["accept"]) == ("identity", "image/*")


def test_what_is_in_memory_has_its_limit_and_a_sink_its_own(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    notes = Notes()
    new_client(max_bytes=10).get(f"{server.url}/pieces/1000", "*/*", into=notes)
    assert len(notes.tries[0]) == 1000


def test_no_bytes_are_an_answer_too(client: Client, server: FaultServer) -> None:
    notes = Notes()
    client.get(f"{server.url}/empty", "*/*", into=notes)
    assert notes.tries == [b""]


def test_bodies_of_redirects_and_errors_reach_nobody(
    new_client: Callable[..., Client], server: FaultServer
) -> None:
    client = new_client(tries=3)
    notes = Notes()
    client.get(f"{server.url}/redirect-to?url=/status/500/then/2", "*/*", into=notes)
    assert notes.tries == [b"ok"]
    for path in ("/status/404", "/status/500", "/429"):
        with pytest.raises(HarvestError):
            client.get(server.url + path, "*/*", into=notes)
    assert notes.tries == [b"ok"]


def test_every_try_begins_anew(new_client: Callable[..., Client], server: FaultServer) -> None:
    notes = Notes()
    with pytest.raises(ServerTrouble, match="IncompleteRead"):
        new_client(tries=3).get(f"{server.url}/truncated?length=1", "*/*", into=notes)
    assert len(notes.tries) == 3
    assert all(len(each) <= 400 for each in notes.tries)


@pytest.mark.parametrize("path", ["/dribble", "/hang", "/hang-after-headers"])
def test_a_caller_may_set_the_deadline(client: Client, server: FaultServer, path: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ServerTrouble, match="no complete answer in time"):
        client.get(server.url + path, "*/*", into=Notes(), seconds=0.2)
    assert 0.15 <= time.monotonic() - begun <= 10  # that of the settings is longer


def test_a_deadline_of_one_answer_is_not_that_of_the_next(
    client: Client, server: FaultServer
) -> None:
    client.get(f"{server.url}/ok", "*/*", seconds=0.5)
    assert not Event().wait(0.5)
    client.get(f"{server.url}/pieces/100000", "*/*")
    assert server.connections == 1


# ---- refusals


def test_a_sink_may_refuse_a_body_unread(new_client: Callable[..., Client]) -> None:
    with FaultServer() as server:
        refusal = GiveUp("it says noai")
        client = new_client(tries=4, private_hosts=(f"127.0.0.1:{server.port}",))
        notes = Notes(at_begin=refusal)
        with pytest.raises(GiveUp) as caught:
            client.get(f"{server.url}/stream", "*/*", into=notes)
        assert caught.value is refusal
        assert notes.tries == [b""]
        assert server.hits.total() == 1


def test_a_sink_may_end_a_body(new_client: Callable[..., Client], server: FaultServer) -> None:
    client = new_client(tries=4)
    notes, exchanges = Notes(most=100_000), recorded(client)
    with pytest.raises(GiveUp, match="too large for us"):
        client.get(f"{server.url}/stream", "*/*", into=notes)
    assert len(notes.tries[0]) <= 100_000 + CHUNK
    exchange = exchanges[0]
    assert (exchange.status, exchange.size) == (200, len(notes.tries[0]))
    client.get(f"{server.url}/ok", "*/*")


@pytest.mark.parametrize("at", ["begin", "write"])
@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), TimeoutError("a network drive"), PermissionError()],
)
def test_a_full_disk_is_no_trouble_of_the_network(
    new_client: Callable[..., Client], server: FaultServer, error: OSError, at: str
) -> None:
    with pytest.raises(StopHarvest, match="cannot keep what arrives"):
        new_client(tries=4).get(f"{server.url}/ok", "*/*", into=Full(error, at))
    assert server.hits.total() == 1


def test_what_ends_the_harvest_passes_unchanged(client: Client, server: FaultServer) -> None:
    end = StopHarvest("the disk is full")
    with pytest.raises(StopHarvest) as caught:
        client.get(f"{server.url}/ok", "*/*", into=Full(end, "write"))
    assert caught.value is end


# ---- memory


def peak_memory(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("path", ["/stream", "/bomb/gzip"])
def test_memory_stays_flat_however_much_comes(
    client: Client, server: FaultServer, path: str
) -> None:
    with pytest.raises(GiveUp):
        client.get(server.url + path, "*/*", into=Counter(MiB))  # packs the bomb

    def ask() -> None:
        with pytest.raises(GiveUp):
            client.get(server.url + path, "*/*", into=Counter(50 * MiB))

    assert peak_memory(ask) < 2 * MiB


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, BadStatus), (500, ServerTrouble), (302, GiveUp), (429, Unavailable)],
)
def test_endless_bodies_nobody_wants_are_cut_off(
    client: Client, server: FaultServer, status: int, error: type[HarvestError]
) -> None:
    exchanges = recorded(client)
    with pytest.raises(error):
        client.get(f"{server.url}/stream/{status}", "*/*", into=Notes())
    exchange = exchanges[0]
    assert exchange.status == status
    assert exchange.size <= MOST_UNREAD + CHUNK
