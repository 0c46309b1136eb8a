"""Whose result counts, over restarts, silence and words that were lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_strangers import DOG, PET, media_of
from tests.support.nats_server import VERSIONS, NatsServer, running_nats
from tests.support.office import Office, Stranger, file_result, page_result, until
from tools.cluster import lookout, nodes, roster, task_queue
from tools.cluster.messages import Found, Question, Result, Shipped
from tools.cluster.post import IS_OPEN

CAT = "/c/en/cat"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster") as server:
        yield server


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "QUIET_S", 0.2)
    monkeypatch.setattr(task_queue, "ACK_WAIT_S", 1.0)


@pytest.fixture
def alpha(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server) as alpha:
        yield alpha


@pytest.fixture
def beta(server: NatsServer) -> Iterator[Stranger]:
    with Stranger(server, "beta") as beta:
        yield beta


@pytest.fixture
def office(tmp_path: Path, server: NatsServer) -> Iterator[Office]:
    with Office(tmp_path, server) as office:
        yield office


def lines_of(office: Office, pool: str) -> list[str]:
    return sorted(office.pools.uris(pool))


def test_of_two_that_were_given_the_same_one_wins(
    office: Office, alpha: Stranger, beta: Stranger
) -> None:
    """The queue gives it to another when the first says nothing of it."""
    alpha.join(fetch=1)
    beta.join(fetch=1)
    alpha.pulse(fetch=1)
    first = alpha.take("fetch")
    second = beta.take("fetch", 20)
    assert (first.token, first.uri) == (second.token, second.uri)
    assert beta.bring(page_result(second.token, DOG, PET)) == "settled"
    before = office.essence()
    assert alpha.bring(page_result(first.token, DOG, CAT)) == "stale"
    assert office.essence() == before


def test_a_result_whose_answer_was_lost_is_judged_again_and_counts_once(
    office: Office, alpha: Stranger
) -> None:
    alpha.join()
    alpha.pulse(fetch=1)
    work = alpha.take("fetch")
    result = page_result(work.token, DOG, PET)
    assert alpha.bring(result) == "settled"
    before = office.essence()
    assert [alpha.bring(result) for _ in range(3)] == ["settled"] * 3
    assert office.essence() == before


def test_a_task_that_is_settled_is_open_for_nobody(office: Office, alpha: Stranger) -> None:
    alpha.join()
    alpha.pulse(fetch=1)
    work = alpha.take("fetch")
    assert is_open(alpha, work.token) is True
    assert alpha.bring(page_result(work.token, DOG, PET)) == "settled"
    assert is_open(alpha, work.token) is False


def is_open(node: Stranger, token: int) -> object:
    node.ask(Question(3, IS_OPEN, [token]))
    found = node.hear(Found)
    assert isinstance(found, Found)
    return found.value


def test_what_was_in_flight_when_the_coordinator_died_is_adopted(
    tmp_path: Path, server: NatsServer, alpha: Stranger
) -> None:
    """And files: booked by whoever brought them, though the word of that comes in another life."""
    seeds = tuple(f"/c/en/word_{number}" for number in range(20))
    with Office(tmp_path, server, seeds=seeds) as office:
        alpha.join(fetch=16)
        alpha.pulse(fetch=16)
        works = [alpha.take("fetch") for _ in range(20)]
    with Office(tmp_path, server, seeds=seeds) as office:
        for work in works:
            alpha.say(page_result(work.token, work.uri, PET))
        assert [alpha.verdict(work.token) for work in works] == ["settled"] * 20
        assert office.pools.done(office.harvest.job.stages[0]) == 20, "each once"
        alpha.join()
        alpha.pulse(fetch=4)
        assert alpha.take("fetch").uri == PET, "nothing of it is asked for again"


def test_files_that_were_stored_in_an_earlier_life_are_settled_now(
    tmp_path: Path, server: NatsServer, alpha: Stranger, beta: Stranger
) -> None:
    with Office(tmp_path, server) as office:
        alpha.join(elsewhere=1)
        assert alpha.bring(page_result(5, DOG, PET)) == "settled"
        result = file_result(6, DOG, media_of(DOG))
        assert alpha.bring(result) == "settled"
    with Office(tmp_path, server) as office:
        before = office.essence()
        assert alpha.bring(result) == "settled", "the graph has them, and here they are"
        assert beta.bring(result) == "stale", "but not there"
        other = media_of(DOG)
        other[3] = "b" * 64
        assert alpha.bring(file_result(7, DOG, other)) == "stale", "nor others"
        assert office.essence() == before


def test_what_a_task_does_to_nodes_again_and_again_it_pays_for_alone(
    office: Office, alpha: Stranger
) -> None:
    """A node says so of a task that several fell silent over."""
    alpha.join()
    died = {"name": "Died", "text": "3 nodes fell silent", "delay": None, "status": None}
    for token in range(5, 50):
        if DOG in lines_of(office, "failed"):
            break
        alpha.pulse(fetch=1)
        work = alpha.take("fetch")
        alpha.bring(Result(work.token, "fetch", work.uri, None, died, None, None))
        assert token < 20, "it is given up in the end"
    assert lines_of(office, "failed") == [DOG]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_server_forgets_is_sent_again(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookout, "LOST_WITH_QUEUE_S", 0.5)
    with (
        running_nats(tmp_path / "server", version) as server,
        Office(tmp_path, server) as office,
        Stranger(server) as alpha,
    ):
        alpha.join()
        alpha.pulse(fetch=4)
        until(lambda: office.pools.at_work, "it is handed out")
        server.restart()
        until(lambda: alpha.bus.is_connected, "the node is back")
        alpha.pulse(fetch=4)
        work = alpha.take("fetch", 60)
        assert work.uri == DOG
        assert alpha.bring(page_result(work.token, DOG, PET)) == "settled"


# --- files that wait for their node ----------------------------------------------------------


def begun_with_files(token: int, uri: str) -> Result:
    """It comes back, and some files lie there already."""
    table = {"name": "ComeBack", "text": "later", "delay": 0.0, "status": None}
    return Result(token, "extend", uri, None, table, {"files": True}, None)


def test_what_was_begun_with_files_goes_to_their_node(
    office: Office, alpha: Stranger, beta: Stranger
) -> None:
    alpha.join(elsewhere=1)
    beta.join(elsewhere=1)
    assert alpha.bring(page_result(5, DOG)) == "settled"
    assert alpha.bring(begun_with_files(6, DOG)) == "again"
    assert office.pools.custody.numbers() == {"alpha": 1}
    alpha.offer(extend=1)
    beta.offer(extend=1)
    work = alpha.take("own")
    assert (work.stage, work.uri) == ("extend", DOG)
    assert alpha.bring(file_result(work.token, DOG, media_of(DOG))) == "settled"
    alpha.say(Shipped(1, [DOG]))
    until(lambda: not office.pools.custody.numbers(), "what has arrived is nobody's any more")


@pytest.mark.parametrize("patience_s", [3600.0, 0.0])
def test_a_silent_nodes_files_are_waited_for_but_not_for_ever(
    office: Office,
    alpha: Stranger,
    beta: Stranger,
    monkeypatch: pytest.MonkeyPatch,
    patience_s: float,
) -> None:
    office.executor._patience_s = patience_s
    alpha.join(elsewhere=1)  # it is given nothing, however long this takes
    assert alpha.bring(page_result(5, DOG)) == "settled"
    assert alpha.bring(begun_with_files(6, DOG)) == "again"
    monkeypatch.setattr(roster, "SILENT_S", 0.5)
    until(lambda: not office.executor.roster.is_awake("alpha"), "alpha is silent")
    beta.join()
    monkeypatch.setattr(roster, "SILENT_S", 30.0)
    seen = office.executor.roster["alpha"]
    assert seen is not None
    seen.heard = -100.0
    beta.pulse(extend=1)
    if patience_s:
        until(lambda: "silent" in reason_of(office, DOG), "it waits for alpha")
    else:
        assert beta.take("extend").uri == DOG, "it is begun afresh"


def reason_of(office: Office, uri: str) -> str:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(office.settings.pools_file)) as db:
        ((reason,),) = db.execute("SELECT reason FROM uri WHERE uri = ?", (uri,)).fetchall()
    return str(reason)
