"""A node that never comes back: what only it had is harvested again, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_strangers import DOG, PET, is_heard, media_of
from tests.support.nats_server import NatsServer, running_nats
from tests.support.office import Office, Stranger, file_result, page_result, until
from tools.assist.inbox import request_of_nodes
from tools.cluster import nodes
from tools.cluster.messages import Drain, Noted, Shipped
from tools.commands.cluster_forget import _forget_here
from tools.commands.coordinator import obey


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster") as server:
        yield server


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "QUIET_S", 0.2)


@pytest.fixture
def alpha(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server) as alpha:
        yield alpha


@pytest.fixture
def beta(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server, "beta") as beta:
        yield beta


def both_have_files(alpha: Stranger, beta: Stranger) -> None:
    alpha.join(elsewhere=1)  # they are given nothing, however long this takes
    beta.join(elsewhere=1)
    assert alpha.bring(page_result(5, DOG, PET)) == "settled"
    assert alpha.bring(page_result(6, PET)) == "settled"
    assert alpha.bring(file_result(7, DOG, media_of(DOG))) == "settled"
    assert beta.bring(file_result(8, PET, media_of(PET))) == "settled"


def test_while_the_harvest_runs(
    tmp_path: Path, server: NatsServer, alpha: Stranger, beta: Stranger
) -> None:
    with Office(tmp_path, server) as office:
        both_have_files(alpha, beta)
        before = office.essence()
        request_of_nodes(office.settings.state, "forget", "alpha")
        obey(office.settings.state, office.harvest, office.executor)
        assert office.pools.custody.numbers() == {"beta": 1}
        assert office.pools.pool_of(DOG) in ("to_extend", "on_extend")
        assert office.pools.pool_of(PET) == "finished"
        assert media_of(DOG)[0] not in office.essence()[1], "the graph knows them no more"
        beta.offer(fetch=4, extend=4)
        while (work := beta.take("extend")).uri != DOG:
            pass
        assert beta.bring(file_result(work.token, DOG, media_of(DOG))) == "settled"
        after = office.essence()
        assert after[1] == before[1], "the end is the same"
        custody = [(owner, "beta") for owner, _ in before[0]["custody"]]
        assert after[0]["custody"] == custody
        assert alpha.bring(file_result(7, DOG, media_of(DOG))) == "stale", "should it come back"


def test_while_it_does_not_run(
    tmp_path: Path, server: NatsServer, alpha: Stranger, beta: Stranger
) -> None:
    with Office(tmp_path, server) as office:
        both_have_files(alpha, beta)
        before = office.essence()
    number = _forget_here(office.settings, "alpha")
    assert (number, _forget_here(office.settings, "alpha")) == (1, 0), "once is enough"
    with Office(tmp_path, server) as office:
        assert office.pools.custody.numbers() == {"beta": 1}
        assert beta.bring(file_result(9, DOG, media_of(DOG))) == "settled"
        assert office.essence()[1] == before[1]
        assert alpha.bring(file_result(7, DOG, media_of(DOG))) == "stale"


def test_what_has_arrived_is_not_lost_with_its_node(
    tmp_path: Path, server: NatsServer, alpha: Stranger, beta: Stranger
) -> None:
    """Also when the word of it was lost: it is said until it is noted."""
    with Office(tmp_path, server) as office:
        both_have_files(alpha, beta)
        for number in (1, 2):
            alpha.say(Shipped(number, [DOG, PET, "/c/en/nobody"]))
            noted = alpha.hear(Noted)
            assert isinstance(noted, Noted) and noted.number == number
        assert office.pools.custody.numbers() == {"beta": 1}, "beta's are not alpha's to release"
        request_of_nodes(office.settings.state, "forget", "alpha")
        obey(office.settings.state, office.harvest, office.executor)
        assert office.pools.pool_of(DOG) == "finished"


def test_drain_reaches_its_node_alone(
    tmp_path: Path, server: NatsServer, alpha: Stranger, beta: Stranger
) -> None:
    with Office(tmp_path, server) as office:
        alpha.join()
        beta.join()
        request_of_nodes(office.settings.state, "drain", "alpha")
        obey(office.settings.state, office.harvest, office.executor)
        assert isinstance(alpha.hear(Drain), Drain)
        assert is_heard(beta) and beta.heard.empty()
        alpha.pulse()
        until(lambda: office.executor.roster.places("fetch") == 4, "only beta takes tasks")
