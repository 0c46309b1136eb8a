"""Who may work with a cluster: one coordinator, nodes of its program, one process for a key."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_strangers import DOG, PET
from tests.support.nats_server import VERSIONS, NatsServer, running_nats
from tests.support.office import Office, Stranger, page_result, until
from tools.cluster import nodes, roster, task_queue
from tools.cluster.messages import Refused, Wait, Welcome
from tools.cluster.subjects import WHO, next_tasks
from tools.errors import UsageError


@pytest.fixture(scope="module", params=VERSIONS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster", request.param) as server:
        yield server


@pytest.fixture
def office(tmp_path: Path, server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setattr(nodes, "QUIET_S", 0.2)
    monkeypatch.setattr(task_queue, "ACK_WAIT_S", 1.0)
    with Office(tmp_path, server) as office:
        yield office


@pytest.fixture
def alpha(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server) as alpha:
        yield alpha


def test_a_second_coordinator_is_refused(
    office: Office, alpha: Stranger, server: NatsServer, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="another harvest works with this cluster"):
        Office(tmp_path / "second", server)
    alpha.join()
    alpha.pulse(fetch=1)
    work = alpha.take("fetch")
    assert alpha.bring(page_result(work.token, DOG, PET)) == "settled", "the first goes on"


def test_a_task_that_is_delivered_to_the_question_is_not_answered(
    office: Office, alpha: Stranger
) -> None:
    """Its answer would acknowledge the task."""
    alpha.join()
    alpha.pulse(fetch=1)
    until(lambda: office.pools.at_work, "it is handed out")
    alpha.bus.say(next_tasks("fetch"), b'{"batch": 1}', WHO)
    assert alpha.take("fetch", 30).uri == DOG, "it is given to somebody who hears it"


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"version": "0.0.1"}, "it is version 0.0.1"),
        ({"program": "0" * 32}, "its program differs from ours"),
        ({"format": 99}, "it speaks format 99"),
    ],
)
def test_another_program_is_refused_and_told_what_to_do(
    office: Office, alpha: Stranger, other: dict[str, object], sentence: str
) -> None:
    refused = alpha.introduce(**other)
    assert isinstance(refused, Refused)
    assert sentence in refused.reason and "git pull" in refused.reason
    assert isinstance(alpha.introduce(), Welcome)


def test_a_clock_that_is_off_is_worth_a_word(
    office: Office, alpha: Stranger, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(alpha.introduce(clock=time.time() + 60), Welcome)
    assert "the clock of node alpha is +60 s off: set it by NTP" in caplog.text


def test_two_processes_with_one_key_are_one_too_many(
    office: Office, alpha: Stranger, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha.join()
    with Stranger(server, "alpha", "second") as second:
        wait = second.introduce()
        assert isinstance(wait, Wait) and "another process uses the key" in wait.reason
        monkeypatch.setattr(roster, "SILENT_S", 0.1)
        time.sleep(0.2)  # the first has fallen silent
        assert isinstance(second.introduce(), Welcome)


def test_a_removed_nodes_key_is_refused_while_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "QUIET_S", 0.2)
    monkeypatch.setattr(task_queue, "ACK_WAIT_S", 1.0)
    with (
        running_nats(tmp_path / "server") as server,
        Office(tmp_path, server) as office,
        Stranger(server) as alpha,
        Stranger(server, "beta") as beta,
    ):
        alpha.join()
        alpha.pulse(fetch=1)
        work = alpha.take("fetch")
        server.remove("alpha")
        until(lambda: not alpha.bus.is_connected, "its connection is cut")
        alpha.say(page_result(work.token, DOG, PET))
        beta.join()
        beta.pulse(fetch=1)
        again = beta.take("fetch", 40)
        assert again.uri == DOG and not alpha.bus.is_connected
        assert beta.bring(page_result(again.token, DOG, PET)) == "settled"
        assert office.pools.pool_of(PET) is not None
