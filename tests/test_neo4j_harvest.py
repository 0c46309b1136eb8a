"""Harvests into a real Neo4j: the same graph as the embedded one, two at once, broken wires."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.command import records, run, start, walk
from tests.conftest import AnyServer
from tests.neo4j_server import driver_for, rows
from tests.store_contract import DOG_IS_PET, relation, write
from tests.worlds.bolt import CommitCutter
from tests.worlds.conceptnet import HUB, World, hostile, line
from tests.worlds.faults import SocketServer
from tests.worlds.proxies import closed_port
from tools.add import Entity, Graph, Relation
from tools.errors import GiveUp, Unavailable
from tools.graphs import open_graph
from tools.rules import RELATIONS

ENTITY = ("uri", "name", "language", "term", "sense", "image", "audio", "visual")
RELATION = (
    "uri", "type", "start_uri", "end_uri", "weight", "surfaceText", "license", "dataset",
    "image", "audio", "visual",
)  # fmt: skip


@pytest.fixture
def server(neo4j_server: AnyServer) -> AnyServer:
    """Emptied, constraints and all in place."""
    with closing(open_graph(neo4j_server.url, neo4j_server.password)) as graph:
        graph.clear()
    return neo4j_server


@pytest.fixture
def graph(server: AnyServer) -> Iterator[Graph]:
    with closing(open_graph(server.url, server.password)) as graph:
        yield graph


def asked(server: AnyServer, query: str) -> list[dict[str, Any]]:
    with driver_for(server.url, server.password) as driver:
        return rows(driver, query)


def without_absent(names: Sequence[str], row: Sequence[object]) -> dict[str, object]:
    return {name: value for name, value in zip(names, row, strict=True) if value is not None}


# --- the same graph ------------------------------------------------------------------------


def test_the_sample_gives_the_same_records_in_both_graphs(
    tmp_path: Path, server: AnyServer
) -> None:
    assert_both_hold_the_same(tmp_path, server, "--sample")


def test_hostile_names_give_the_same_records_in_both_graphs(
    tmp_path: Path, server: AnyServer
) -> None:
    with World(hostile()) as world:
        assert_both_hold_the_same(tmp_path, server, "--source", world.url, "--seed", HUB)


def assert_both_hold_the_same(folder: Path, server: AnyServer, *flags: object) -> None:
    embedded = folder / "graph.db"
    for number, url in enumerate((f"sqlite:{embedded}", server.url)):
        places = ("-q", "--state", folder / str(number), "--graph", url)
        done = run("main.py", *flags, *places, SHEAF_NEO4J_PASSWORD=server.password)
        assert done.returncode == 0, done.stderr
    expected = records(embedded)
    assert len(expected["relation"]) > 5

    nodes = asked(
        server, "MATCH (n) RETURN labels(n) AS labels, properties(n) AS it ORDER BY n.uri"
    )
    assert [each["labels"] for each in nodes] == [["Entity"]] * len(expected["entity"])
    assert sorted((each["it"] for each in nodes), key=by_uri) == sorted(
        (without_absent(ENTITY, row) for row in expected["entity"]), key=by_uri
    )
    links = asked(
        server,
        """MATCH (a)-[r]->(b) RETURN properties(r) AS it, type(r) AS type,
        a.uri AS start_uri, b.uri AS end_uri""",
    )
    found = [each.pop("it") | each for each in links]
    assert sorted(found, key=by_uri) == sorted(
        (without_absent(RELATION, row) for row in expected["relation"]), key=by_uri
    )


def by_uri(record: dict[str, Any]) -> str:
    uri: str = record["uri"]
    return uri


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


def test_two_harvests_of_the_same_concepts_make_no_duplicates(
    tmp_path: Path, server: AnyServer
) -> None:
    lines = mesh(120)
    with World(lines) as world:
        flags = ("--source", world.url, "--seed", "/c/en/0", "--graph", server.url)
        both = [
            start(
                "main.py", *flags, "--state", tmp_path / name, SHEAF_NEO4J_PASSWORD=server.password
            )
            for name in ("one", "two")
        ]
        errors = [each.communicate(timeout=120)[1] for each in both]
    assert [each.returncode for each in both] == [0, 0], errors
    assert not [text for text in errors if "WARNING" in text or "ERROR" in text]
    assert_graph_is(server, lines)
    for name in ("one", "two"):
        assert pools_of(tmp_path / name)["failed"] == 0


def mesh(count: int) -> list[str]:
    """Concepts tied to their neighbours and to a few hubs, all reachable from the first."""
    return [
        line(f"/r/{kind}", f"/c/en/{number}", f"/c/en/{other % count}")
        for number in range(count)
        for kind, other in (("IsA", number + 1), ("PartOf", number * 7), ("HasA", number % 3))
        if other % count != number
    ]


def assert_graph_is(server: AnyServer, lines: list[str]) -> None:
    concepts, relations = walk(lines, "/c/en/0")
    found = asked(server, "MATCH (n:Entity) RETURN n.uri AS uri")
    assert sorted(each["uri"] for each in found) == sorted(concepts)
    found = asked(server, "MATCH ()-[r]->() RETURN r.uri AS uri")
    assert sorted(each["uri"] for each in found) == sorted(relations)


def pools_of(state: Path) -> dict[str, int]:
    done = run("history.py", "--json", "--state", state)
    pools: dict[str, int] = json.loads(done.stdout)["pools"]
    return pools


# --- the wire ------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_written_again(
    server: AnyServer, graph: Graph, when: Any
) -> None:
    with CommitCutter(port_of(server), when) as wire:
        with closing(open_graph(address_of(wire, server), server.password)) as cut_off:
            wire.cuts = 3
            write(cut_off, DOG_IS_PET)
        assert wire.cut == 3
    assert graph.counts() == (2, 1, 0)
    assert list(graph.relations()) == [DOG_IS_PET]


def test_a_wire_that_always_breaks_is_a_graph_that_cannot_be_reached(server: AnyServer) -> None:
    with (
        CommitCutter(port_of(server), "before") as wire,
        closing(open_graph(address_of(wire, server), server.password)) as cut_off,
    ):
        wire.cuts = 1000
        with pytest.raises(Unavailable, match="cannot be reached"):
            write(cut_off, DOG_IS_PET)


def port_of(server: AnyServer) -> int:
    return urlsplit(server.url).port or 7687


def address_of(wire: CommitCutter, server: AnyServer) -> str:
    """Not neo4j://, because that driver asks the server where it is, and goes round the wire."""
    user, path = urlsplit(server.url).username or "neo4j", urlsplit(server.url).path
    return f"bolt://{user}@127.0.0.1:{wire.port}{path}"


def test_a_type_that_is_not_ours_never_becomes_part_of_a_query(graph: Graph) -> None:
    evil = Relation("/a/x", "IsA`]->() DETACH DELETE n //", "/c/en/a", "/c/en/b", 1.0, *[None] * 3)
    with pytest.raises(GiveUp, match="no type of relation"):
        graph.write([Entity.of("/c/en/a")], [evil])
    assert graph.counts() == (0, 0, 0)


# --- a start that fails --------------------------------------------------------------------


class Silence(SocketServer):
    """Takes connections and says nothing."""

    def serve(self, connection: Any) -> None:
        self.stopping.wait(60)


def refusal(url: str, tmp_path: Path, password: str) -> str:
    flags = ("--sample", "--state", tmp_path / "state", "--graph", url)
    done = run("main.py", *flags, SHEAF_NEO4J_PASSWORD=password, seconds=10)
    assert done.returncode == 3, done.stderr
    (sentence,) = done.stderr.splitlines()
    return str(sentence)


def test_a_wrong_password_is_told_and_not_tried_again(tmp_path: Path, server: AnyServer) -> None:
    sentence = refusal(server.url, tmp_path, "not-the-password")
    assert "refuses the user" in sentence and "SHEAF_NEO4J_PASSWORD" in sentence
    assert "not-the-password" not in sentence


def test_a_missing_database_is_told(tmp_path: Path, server: AnyServer) -> None:
    url = f"{server.url.rstrip('/')}/nowhere" if not urlsplit(server.url).path.strip("/") else ""
    url = url or server.url.rpartition("/")[0] + "/nowhere"
    assert "has no database 'nowhere'" in refusal(url, tmp_path, server.password)


@pytest.mark.parametrize("scheme", ["neo4j", "bolt", "neo4j+s"])
def test_a_closed_port_is_told(tmp_path: Path, scheme: str) -> None:
    sentence = refusal(f"{scheme}://127.0.0.1:{closed_port()}", tmp_path, "x")
    assert "cannot be reached" in sentence and "refused" in sentence


def test_a_server_that_says_nothing_is_told_within_ten_seconds(tmp_path: Path) -> None:
    with Silence() as silence:
        sentence = refusal(f"neo4j://127.0.0.1:{silence.port}", tmp_path, "x")
    assert "cannot be reached" in sentence


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
    done = run("main.py", "--sample", "--state", tmp_path / "state", "--graph", url)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "secret" not in done.stderr
