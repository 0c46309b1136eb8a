"""A limited host is asked by several nodes no more often than by one, as the host sees it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
import requests
from nats.aio.msg import Msg

from tests.cluster.test_limits import most_in_a_second
from tests.support.nats_server import NatsServer, running_nats
from tests.support.office import Office, Stranger, until
from tools.cluster import desk, nodes, roster
from tools.cluster.bus import unpacked
from tools.cluster.limits import SharedLimits
from tools.cluster.messages import Permit, Refusal, Rested
from tools.cluster.node import Turns
from tools.cluster.post import Post
from tools.cluster.wire import decoded
from tools.errors import HarvestError, Unavailable, UsageError
from tools.jobs.conceptnet_abroad import check_own_hosts
from tools.network.client import Client
from tools.network.guard import host_of
from tools.network.limits import Limit, Limits
from tools.network.settings import HttpSettings
from tools.providers import catalogue
from tools.settings import Settings

NAMES = ("alpha", "beta", "gamma", "delta")
MOST = 20
SECONDS = 3.0


class Asker(Stranger):
    """A node whose threads ask a host as fast as they may."""

    def __init__(self, server: NatsServer, name: str, url: str, is_limited: bool = True) -> None:
        self.post: Post | None = None
        super().__init__(server, name)
        self.url, self.host = url, host_of(url)
        self.post = Post(Turns(self.bus, name))
        self.limits = SharedLimits(self.post, [self.host] if is_limited else [])
        self.stop = Event()
        self.client = Client(
            HttpSettings(tries=1), None, self.stop, 8, trusted=[self.host], kept=self.limits
        )
        self.threads: list[Thread] = []

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(30)
        self.client.close()
        super().__exit__()

    def _told(self, message: Msg) -> None:
        told = decoded(unpacked(message.data))
        if isinstance(told, Permit | Refusal | Rested):
            assert self.post is not None
            self.post.heard(told)
        else:
            self.heard.put(told)

    def ask_away(self, threads: int) -> None:
        self.threads = [Thread(target=self._ask, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def _ask(self) -> None:
        while not self.stop.is_set():
            try:
                self.client.get(f"{self.url}/new", "*/*")
            except HarvestError:
                self.stop.wait(0.1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster", nodes=NAMES) as server:
        yield server


@pytest.fixture
def counting() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.counting"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def times(url: str) -> list[float]:
    return [float(each) for each in requests.get(f"{url}/times", timeout=30).json()]


@contextmanager
def office_with(folder: Path, server: NatsServer, url: str, limit: Limit) -> Iterator[Office]:
    """The catalogue's limits are replaced by this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "limits", lambda _settings: {host_of(url): limit})
        with Office(folder, server, source=url) as office:
            yield office


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "QUIET_S", 0.1)


def test_four_nodes_ask_no_more_often_than_one_and_a_cut_one_not_at_all(
    tmp_path: Path, server: NatsServer, counting: str
) -> None:
    with office_with(tmp_path, server, counting, Limit((f"{MOST}/second",))):
        askers = [Asker(server, name, counting) for name in NAMES]
        for asker in askers:
            asker.join()
            asker.ask_away(4)
        time.sleep(SECONDS / 2)
        cut = askers[0]
        cut.bus.close()
        assert cut.post is not None
        cut.post.give_up()
        time.sleep(SECONDS / 2)
        for asker in askers[1:]:
            asker.__exit__()
        alone = len(times(counting))
        time.sleep(1.0)
        assert len(times(counting)) == alone, "whoever is cut asks nobody"
        cut.__exit__()
    asked = times(counting)
    assert most_in_a_second(asked) <= MOST * 1.1 + 1
    assert len(asked) > MOST * SECONDS / 2, "the limit is used"


def test_places_of_a_silent_node_come_back_after_its_deadline(
    tmp_path: Path, server: NatsServer, counting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "DEADLINE_S", 1.0)
    with (
        office_with(tmp_path, server, counting, Limit(at_once=1)) as office,
        Asker(server, "alpha", counting) as alpha,
        Asker(server, "beta", counting) as beta,
    ):
        alpha.join()
        beta.join()
        assert alpha.limits.take_turn(alpha.host) is not None
        begun = time.monotonic()
        monkeypatch.setattr(roster, "SILENT_S", 1.0)
        beta.threads = [Thread(target=keep_pulsing, args=(beta,), daemon=True)]
        beta.threads[0].start()
        until(lambda: "alpha" in office.executor.roster.silent(), "alpha is silent")
        assert beta.limits.take_turn(beta.host) is not None
        assert time.monotonic() - begun > 1.5, "not before it can ask nobody any more"


def keep_pulsing(node: Asker) -> None:
    while not node.stop.wait(0.2):
        node.pulse()


def test_a_daily_budget_is_the_coordinators_and_outlives_it(
    tmp_path: Path, server: NatsServer, counting: str
) -> None:
    for expected in (3, 0):
        with (
            office_with(tmp_path, server, counting, Limit(("3/day",))),
            Asker(server, "alpha", counting) as alpha,
            Asker(server, "beta", counting) as beta,
        ):
            alpha.join()
            beta.join()
            granted = 0
            for node in (alpha, beta, alpha, beta):
                with suppress(Unavailable):
                    node.client.get(f"{counting}/new", "*/*")
                    granted += 1
            assert granted == expected
    assert len(times(counting)) == 3


def test_a_host_of_ones_own_counts_each_node_alone() -> None:
    class NoPost(Post):
        def __init__(self) -> None: ...

    own = Limits({"mine": Limit(("100/second",))}, Event(), None)
    limits = SharedLimits(NoPost(), ["theirs"], own)
    assert limits.take_turn("mine") is not None, "nobody is asked for it"
    assert limits.take_turn("anybody") is None


@pytest.mark.parametrize("host", ["api.conceptnet.io", "api.openverse.org", "freesound.org"])
def test_what_a_provider_allows_it_allows_to_all_together(host: str) -> None:
    from dataclasses import replace

    settings = Settings()
    mine = replace(settings, cluster=replace(settings.cluster, per_node=("mirror.lab", host)))
    with pytest.raises(UsageError, match="is not yours"):
        check_own_hosts(mine)
    check_own_hosts(replace(mine, cluster=replace(mine.cluster, per_node=("mirror.lab",))))
