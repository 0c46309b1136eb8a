"""Harvests into a real Neo4j: the same graph as the embedded one, two at once, broken wires."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest

from tests.faults.injection import Process, main_py
from tests.support.command import pools_of, run, says, start
from tests.support.dump_world import harvest, set_small
from tests.support.graph_world import assert_graph_is, graph_in, in_neo4j, in_sqlite
from tests.support.neo4j_server import AnyServer, ask, run_with
from tests.support.ports import closed_port
from tests.support.store_contract import DOG_IS_PET, relation, write
from tests.support.worlds.bolt import COMMIT, When, Wire
from tests.support.worlds.conceptnet import HUB, World, hostile, hub, line, mesh
from tests.support.worlds.faults import SocketServer
from tools.add import Entity, Graph, Relation
from tools.conceptnet.graph import open_graph
from tools.conceptnet.rules import RELATIONS
from tools.engine import rests
from tools.engine.harvest import Harvest
from tools.errors import GiveUp, Unavailable


@pytest.fixture
def graph(empty_neo4j: AnyServer) -> Iterator[Graph]:
    with closing(graph_in(empty_neo4j)) as graph:
        yield graph


# --- the same graph ------------------------------------------------------------------------


def test_hostile_names_give_the_same_records_in_both_graphs(
    tmp_path: Path, empty_neo4j: AnyServer
) -> None:
    """That the sample does, too, is seen in test_readme.py, which has it in both."""
    embedded = tmp_path / "graph.db"
    with World(hostile()) as world:
        for number, url in enumerate((f"sqlite:{embedded}", empty_neo4j.url)):
            flags = ("--source", world.url, "--seed", HUB, "--no-media", "-q", "--graph", url)
            done = run_with(empty_neo4j, "main.py", *flags, "--state", tmp_path / str(number))
            assert done.returncode == 0, done.stderr
    assert len(in_sqlite(embedded)["relation"]) > 5
    assert in_neo4j(empty_neo4j) == in_sqlite(embedded)
    others = ask(empty_neo4j, "MATCH (n) WHERE labels(n) <> ['Entity'] RETURN labels(n) AS labels")
    assert [each["labels"] for each in others] == [["SheafHarvest"]]


def test_a_whole_file_gives_the_same_records_in_both_graphs(
    tmp_path: Path,
    empty_neo4j: AnyServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Although the wire breaks so often that a stretch of it has to be read again."""
    set_small(monkeypatch.setattr)
    monkeypatch.setattr(rests, "FIRST_S", 0.01)
    file = tmp_path / "world.csv"
    too_long = line("/r/IsA", f"/c/en/{'x' * 9000}", "/c/en/0")
    file.write_text("".join((*mesh(40), too_long, *hub(60))))
    embedded = harvest(tmp_path / "embedded", file)
    with Wire(empty_neo4j.url, COMMIT, "after") as wire:

        def break_later(run: Harvest) -> None:
            wire.cuts = 7 if run.pools.leases else 0

        flags, password = ("--graph", wire.url), empty_neo4j.password
        ended = harvest(tmp_path, file, *flags, tick=break_later, password=password)
    assert wire.cut == 7 and "fetch waits" in caplog.text
    assert ended == embedded and ended.tally[2] == 1
    assert in_neo4j(empty_neo4j) == in_sqlite(tmp_path / "embedded" / "state" / "graph.db")


# --- several writers -----------------------------------------------------------------------


def test_writers_in_opposite_orders_wait_for_each_other_and_never_deadlock(
    graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver would repeat a deadlocked transaction; it must not even come to that."""
    relations = [
        relation(RELATIONS[(a + b) % 4], f"/c/en/{a}", f"/c/en/{b}")
        for a in range(12)
        for b in range(12)
    ]

    def write_shuffled(number: int) -> None:
        mine = sorted(relations, reverse=bool(number % 2))
        Random(number).shuffle(mine)
        for at in range(0, len(mine), 24):
            write(graph, *mine[at : at + 24])

    with caplog.at_level(logging.WARNING, "neo4j"), ThreadPoolExecutor(8) as pool:
        list(pool.map(write_shuffled, range(16)))
    assert graph.counts() == (12, 144, 0)
    assert not [each.message for each in caplog.records if "retried" in each.message]


@pytest.mark.usefixtures("graph")  # made beforehand: this is not about two that make constraints
def test_two_harvests_of_the_same_concepts_make_no_duplicates(
    tmp_path: Path, empty_neo4j: AnyServer
) -> None:
    lines, password = mesh(120), {"SHEAF_NEO4J_PASSWORD": empty_neo4j.password}
    with World(lines) as world:
        flags = (
            "--source",
            world.url,
            "--seed",
            "/c/en/0",
            "--no-media",
            "--graph",
            empty_neo4j.url,
        )
        both = [
            start("main.py", *flags, "--state", tmp_path / name, **password)
            for name in ("one", "two")
        ]
        errors = [each.communicate(timeout=120)[1] for each in both]
    assert [each.returncode for each in both] == [0, 0], errors
    assert not [text for text in errors if "WARNING" in text or "ERROR" in text]
    assert_graph_is(empty_neo4j, lines)
    for name in ("one", "two"):
        assert pools_of(tmp_path / name)["failed"] == 0


# --- to whom it belongs --------------------------------------------------------------------


@pytest.fixture
def slow() -> Iterator[World]:
    with World(mesh(200), latency=0.05) as world:
        yield world


def flags_for(folder: Path, server: AnyServer, world: World) -> tuple[object, ...]:
    places = ("--graph", server.url, "--state", folder / "state")
    return ("--source", world.url, "--seed", "/c/en/0", "--no-media", *places)


def test_a_graph_that_is_emptied_ends_the_harvest_and_the_next_start(
    tmp_path: Path, empty_neo4j: AnyServer, slow: World
) -> None:
    flags = flags_for(tmp_path, empty_neo4j, slow)
    password = {"SHEAF_NEO4J_PASSWORD": empty_neo4j.password}
    with Process(tmp_path / "said", main_py(*flags), **password) as process:
        slow.wait_for(30, timeout=60)
        ask(empty_neo4j, "MATCH (n) DETACH DELETE n")
        slow.latency = 0.0
        assert process.end() == 6, process.log
        assert "was emptied while the harvest ran" in process.sentence
    again = run_with(empty_neo4j, "main.py", *flags)
    assert "does not know this harvest" in says(again, 6)


def test_nobody_empties_a_graph_under_a_harvest(
    tmp_path: Path, empty_neo4j: AnyServer, slow: World
) -> None:
    flags = flags_for(tmp_path, empty_neo4j, slow)
    elsewhere = ("--yes", "--graph", empty_neo4j.url, "--state", tmp_path / "elsewhere")
    password = {"SHEAF_NEO4J_PASSWORD": empty_neo4j.password}
    with Process(tmp_path / "said", main_py(*flags), **password) as process:
        slow.wait_for(30, timeout=60)
        slow.latency = 2.0  # it must still run when clear.py has started
        refused = run_with(empty_neo4j, "clear.py", *elsewhere)
        slow.latency = 0.0
        assert process.end() == 0, process.log
    assert "sign of life" in says(refused, 4) and "if it was killed" in refused.stderr
    assert run_with(empty_neo4j, "main.py", *flags).returncode == 0
    cleared = run_with(empty_neo4j, "clear.py", *elsewhere)
    assert cleared.returncode == 0, cleared.stderr
    assert ask(empty_neo4j, "MATCH (n) RETURN n") == []
    assert "does not know this harvest" in says(run_with(empty_neo4j, "main.py", *flags), 6)


# --- the wire ------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_written_again(
    empty_neo4j: AnyServer, graph: Graph, when: When
) -> None:
    with Wire(empty_neo4j.url, COMMIT, when) as wire:
        with closing(open_graph(wire.url, empty_neo4j.password)) as cut_off:
            wire.cuts = 3
            write(cut_off, DOG_IS_PET)
        assert wire.cut == 3
    assert graph.counts() == (2, 1, 0)
    assert list(graph.relations()) == [DOG_IS_PET]


def test_a_wire_that_always_breaks_is_a_graph_that_cannot_be_reached(
    empty_neo4j: AnyServer,
) -> None:
    with (
        Wire(empty_neo4j.url, COMMIT, "before") as wire,
        closing(open_graph(wire.url, empty_neo4j.password)) as cut_off,
    ):
        wire.cuts = 1000
        with pytest.raises(Unavailable, match="cannot be reached"):
            write(cut_off, DOG_IS_PET)


def test_a_type_that_is_not_ours_never_becomes_part_of_a_query(graph: Graph) -> None:
    evil = Relation("/a/x", "IsA`]->() DETACH DELETE n //", "/c/en/a", "/c/en/b", 1.0, *[None] * 3)
    with pytest.raises(GiveUp, match="no type of relation"):
        graph.write([Entity.of("/c/en/a")], [evil])
    assert graph.counts() == (0, 0, 0)


# --- a start that fails --------------------------------------------------------------------


class Silence(SocketServer):
    """Takes connections, says nothing, and notes how long that was borne."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def serve(self, connection: socket.socket) -> None:
        begun = time.monotonic()
        while connection.recv(1000):
            pass
        self.seconds.append(time.monotonic() - begun)


def refusal(url: str, tmp_path: Path, password: str) -> str:
    flags = ("--sample", "--no-media", "--state", tmp_path / "state", "--graph", url)
    return says(run("main.py", *flags, SHEAF_NEO4J_PASSWORD=password), 3)


def test_a_wrong_password_is_told_and_not_tried_again(
    tmp_path: Path, neo4j_server: AnyServer
) -> None:
    sentence = refusal(neo4j_server.url, tmp_path, "not-the-password")
    assert "refuses the user" in sentence and "SHEAF_NEO4J_PASSWORD" in sentence
    assert "not-the-password" not in sentence


def test_a_missing_database_is_told(tmp_path: Path, neo4j_server: AnyServer) -> None:
    url = urlsplit(neo4j_server.url)._replace(path="/nowhere").geturl()
    assert "has no database 'nowhere'" in refusal(url, tmp_path, neo4j_server.password)


@pytest.mark.parametrize("scheme", ["neo4j", "bolt", "neo4j+s"])
def test_a_closed_port_is_told(tmp_path: Path, scheme: str) -> None:
    sentence = refusal(f"{scheme}://127.0.0.1:{closed_port()}", tmp_path, "x")
    assert "cannot be reached" in sentence and "refused" in sentence


def test_a_server_that_says_nothing_is_not_waited_for_as_long_as_the_driver_would(
    tmp_path: Path,
) -> None:
    with Silence() as silence:
        sentence = refusal(f"neo4j://127.0.0.1:{silence.port}", tmp_path, "x")
    assert "cannot be reached" in sentence
    assert 0 < sum(silence.seconds) < 30  # the driver would for a minute


@pytest.mark.parametrize(
    "url",
    [
        "neo4j://ada:secret@127.0.0.1:7687",
        "neo4j://127.0.0.1:7687/a@b:secret",
        "neo4j://127.0.0.1:seven",
        "neo4j:///words",
        "neo5j://127.0.0.1",
        "neo4j://127.0.0.1/words?x=y",
    ],
)
def test_an_address_that_cannot_be_is_refused_and_no_secret_shown(tmp_path: Path, url: str) -> None:
    done = run("main.py", "--sample", "--no-media", "--state", tmp_path / "state", "--graph", url)
    assert "secret" not in says(done, 2)
