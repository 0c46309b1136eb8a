"""Whose trouble it is: a node's own holds that node, and spends nobody's attempt; what two agree on
is the source's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_strangers import DOG, PET, is_heard
from tests.support.nats_server import NatsServer, running_nats
from tests.support.office import Office, Stranger, page_result
from tools.cluster import nodes
from tools.cluster.messages import Hold, Result

CAT = "/c/en/cat"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster") as server:
        yield server


@pytest.fixture
def office(tmp_path: Path, server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setattr(nodes, "QUIET_S", 0.2)
    with Office(tmp_path, server, seeds=(DOG, CAT)) as office:
        yield office


@pytest.fixture
def alpha(server: NatsServer, office: Office) -> Iterator[Stranger]:
    with Stranger(server) as alpha:
        alpha.join()
        yield alpha


@pytest.fixture
def beta(server: NatsServer, office: Office) -> Iterator[Stranger]:
    with Stranger(server, "beta") as beta:
        beta.join()
        yield beta


def failing(node: Stranger, name: str) -> str:
    """It is given a task, and cannot do it."""
    work = node.take("fetch")
    table = {"name": name, "text": "no", "delay": None, "status": None}
    return node.bring(Result(work.token, "fetch", work.uri, None, table, None, None))


def attempts(office: Office) -> int:
    return sum(row[3] for row in office.essence()[0]["uri"])


@pytest.mark.parametrize("name", ["NoRoom", "StopHarvest", "Unavailable", "UsageError"])
def test_what_one_lacks_holds_it_alone(
    office: Office, alpha: Stranger, beta: Stranger, name: str
) -> None:
    work = alpha.take("fetch")
    table = {"name": name, "text": "the disk is full", "delay": None, "status": None}
    alpha.say(Result(work.token, "fetch", work.uri, None, table, None, None))
    held = alpha.hear(Hold)
    assert isinstance(held, Hold) and held.stage == "fetch" and "disk is full" in held.reason
    assert is_heard(beta) and beta.heard.empty()
    alpha.pulse()
    done = {uri: beta.bring(page_result(7 + n, uri, PET)) for n, uri in enumerate((DOG, CAT))}
    beta.pulse(fetch=4)
    while "stale" in done.values():  # it was handed out again before
        again = beta.take("fetch")
        done[again.uri] = beta.bring(page_result(again.token, again.uri, PET))
    assert set(done.values()) == {"settled"} and attempts(office) == 0
    assert office.harvest.fatal is None


def test_what_two_agree_on_rests_the_stage(office: Office, alpha: Stranger, beta: Stranger) -> None:
    assert failing(alpha, "Unavailable") == "again"
    rests = office.harvest.monitors[0]._returns.rests
    assert not rests
    assert failing(beta, "Unavailable") == "again"
    assert rests and attempts(office) == 0
