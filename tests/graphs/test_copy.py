"""Copying a graph into another one: everything arrives, nothing else changes, and it is proved."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.command import Here, records, run, says, start
from tests.support.graph_world import COUNTS, filled, graph_in, in_neo4j, in_sqlite
from tests.support.neo4j_server import AnyServer, ask, run_with
from tests.support.ports import closed_port
from tests.support.store_contract import DOG_IS_PET, STRANGE, image, relation, write
from tests.support.worlds.bolt import Wire
from tools.add import Counts, Graph, unseen
from tools.commands.copy import report_copied
from tools.errors import Fatal
from tools.graphs.copy import BATCH, arrived, copy, hand_on, parts
from tools.graphs.sqlite import SqliteGraph


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return filled(tmp_path / "source.db")


@pytest.fixture
def target(empty_neo4j: AnyServer) -> Iterator[Graph]:
    with closing(graph_in(empty_neo4j)) as graph:
        yield graph


# --- everything arrives ------------------------------------------------------------------------


def test_every_record_arrives_as_it_was_twice_and_comes_back(
    source: Path, empty_neo4j: AnyServer, tmp_path: Path
) -> None:
    before, back, url = in_sqlite(source), tmp_path / "back.db", empty_neo4j.url
    for _ in range(2):
        flags = ("--from", f"sqlite:{source}", "--graph", url)
        done = run_with(empty_neo4j, "main.py", "copy", *flags, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{url} holds all of it: 9 entities, 7 relations, 7 media\n"
        assert in_neo4j(empty_neo4j) == before
    assert {type(each["weight"]) for each in in_neo4j(empty_neo4j)["relation"]} == {float}
    flags = ("--from", url, "--graph", f"sqlite:{back}")
    done = run_with(empty_neo4j, "main.py", "copy", *flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert records(back) == records(source)
    assert in_sqlite(source) == before and in_neo4j(empty_neo4j) == before
    assert not (tmp_path / "state").exists()


def test_a_begun_copy_goes_on_and_the_target_keeps_what_it_held(
    source: Path, empty_neo4j: AnyServer, target: Graph
) -> None:
    foreign = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a.name, properties(r) AS r, labels(b), b.n"
    ask(empty_neo4j, "CREATE (:Person {name: 'Ada'})-[:KNOWS {since: 1833}]->(:Entity:Old {n: 1})")
    people = ask(empty_neo4j, foreign)
    other = relation("IsA", "/c/en/cat", "/c/en/other", 5.0)
    write(target, other)
    target.attach({other.uri: [image("m/other.png")]})
    with closing(SqliteGraph(source)) as graph:
        half = list(graph.entities())[::2], list(graph.relations())[::2]
    target.write(*half)  # and their media have not come yet
    with closing(SqliteGraph(source)) as graph:
        copy(graph, target, unseen)
    assert ask(empty_neo4j, foreign) == people
    assert target.neighbours("/c/en/cat") == [other]
    assert target.media_of([other.uri]) == {other.uri: [image("m/other.png")]}

    ask(empty_neo4j, "MATCH (n) WHERE n:Person OR n:Old DETACH DELETE n")
    ask(empty_neo4j, "MATCH (n:Entity) WHERE n.uri IN ['/c/en/cat', '/c/en/other'] DETACH DELETE n")
    ask(empty_neo4j, "MATCH (m:Media {path: 'm/other.png'}) DELETE m")
    assert in_neo4j(empty_neo4j) == in_sqlite(source)


def test_a_graph_larger_than_a_batch_is_copied_whole(tmp_path: Path) -> None:
    links = [relation("IsA", f"/c/en/{each}", "/c/en/hub") for each in range(BATCH + 1)]
    told: list[int] = []
    with (
        closing(SqliteGraph(tmp_path / "a.db")) as graph,
        closing(SqliteGraph(tmp_path / "b.db")) as target,
    ):
        write(graph, *links)
        graph.attach({links[-1].uri: [image("m/0.png")]})
        copied = copy(graph, target, told.append)
        assert sum(told) == sum(graph.counts())
        assert copied.whole == copied.there == graph.counts() == (BATCH + 2, BATCH + 1, 1)
    assert records(tmp_path / "b.db") == records(tmp_path / "a.db")


# --- what did not arrive is missed -------------------------------------------------------------


def held(graph: Graph, target: Graph) -> Counts:
    counts = [arrived(part, target) for part in parts(graph)]
    return Counts(*map(sum, zip(*counts, strict=True)))


def test_what_is_missing_in_the_target_is_counted_and_told(
    source: Path, empty_neo4j: AnyServer, target: Graph
) -> None:
    with closing(SqliteGraph(source)) as graph:
        copy(graph, target, unseen)
        assert report_copied(graph.counts(), held(graph, target), "it", True) == 0

        ask(empty_neo4j, "MATCH ()-[r {uri: $uri}]->() DELETE r", uri=STRANGE.uri)
        there = held(graph, target)
        assert there == COUNTS._replace(relations=6)
        with pytest.raises(Fatal) as caught:
            report_copied(graph.counts(), there, "it", True)
        assert str(caught.value) == "it lacks 1 of 7 relations: start the same command again"
        assert caught.value.exit_code == 1

        ask(empty_neo4j, "MATCH (m:Media {path: 'm/a.gif'}) DELETE m")
        ask(empty_neo4j, "MATCH (n:Entity {uri: '/c/en/lonely'}) DELETE n")
        there = held(graph, target)
        assert there == Counts(8, 6, 6)
        with pytest.raises(Fatal, match="it lacks 1 of 9 entities, 1 of 7 relations, 1 of 7 media"):
            report_copied(graph.counts(), there, "it", True)

        assert copy(graph, target, unseen).there == held(graph, target) == COUNTS


def test_a_record_that_does_not_arrive_ends_the_command_with_a_sentence(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target.db"
    with closing(SqliteGraph(target)):
        pass
    with closing(sqlite3.connect(target)) as db:
        db.executescript(
            """CREATE TRIGGER thief BEFORE INSERT ON relation WHEN NEW.type = 'CapableOf'
            BEGIN SELECT RAISE(IGNORE); END"""
        )
    done = run(
        "main.py", "copy", "--from", f"sqlite:{source}", "--graph", f"sqlite:{target}", cwd=tmp_path
    )
    assert says(done, 1).startswith(f"sheaf: sqlite:{target} lacks 2 of 7 relations: ")
    assert done.stdout == ""


# --- what cannot be copied ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--from", "sqlite:gone.db", "--graph", "sqlite:b.db"], "no graph at sqlite:gone.db"),
        (["--graph", "sqlite:b.db"], "no graph at sqlite:state/graph.db"),
        (["--from", "sqlite:state/graph.db"], "copy needs another graph to write"),
        (["--from", "sqlite:source.db", "--graph", "sqlite:./source.db"], "another graph"),
        (["--from", "sqlite:source.db", "--graph", "mysql://b"], "neo4j://user@host:7687"),
        (["--from", "sqlite:source.db", "--graph", "neo4j://me:hunter2@b"], "SHEAF_NEO4J_PASSWORD"),
        (["into", "--from", "sqlite:source.db", "--graph", "sqlite:b.db"], "no further argument"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(
    source: Path, here: Here, flags: list[str], sentence: str
) -> None:
    told = here("copy", *flags)
    assert told.startswith("2 sheaf: ") and sentence in told
    assert "hunter2" not in told
    assert [path.name for path in Path().iterdir() if "-" not in path.name] == ["source.db"]


@pytest.mark.parametrize("side", ["--from", "--graph"])
def test_a_server_that_does_not_answer_is_named_soon(
    source: Path, tmp_path: Path, side: str
) -> None:
    url = f"neo4j://neo4j@127.0.0.1:{closed_port()}"
    other = "--graph" if side == "--from" else "--from"
    begun = time.monotonic()
    done = run("main.py", "copy", side, url, other, f"sqlite:{source}", cwd=tmp_path)
    assert time.monotonic() - begun < 25  # the driver would try for 30 s
    assert url.replace("neo4j@", "") in says(done, 3)


def test_a_wrong_password_is_told_without_showing_it(
    source: Path, neo4j_server: AnyServer, tmp_path: Path
) -> None:
    flags = ("--from", f"sqlite:{source}", "--graph", neo4j_server.url)
    done = run("main.py", "copy", *flags, cwd=tmp_path, SHEAF_NEO4J_PASSWORD="hunter22")
    told = says(done, 3)
    assert "refuses the user 'neo4j'" in told and "SHEAF_NEO4J_PASSWORD" in told
    assert "hunter22" not in told


def test_a_server_that_goes_away_is_told_in_a_sentence(
    empty_neo4j: AnyServer, target: Graph, tmp_path: Path
) -> None:
    """Each time at another moment; together, because each tries for seconds to reach it again."""
    write(target, DOG_IS_PET)
    copy_to = ("copy", "--graph", f"sqlite:{tmp_path / 'target.db'}", "--from")
    moments = {
        "copy counts": (b"RETURN count(n)", copy_to),
        "copy reads": (b"ORDER BY", copy_to),
        "export reads": (b"ORDER BY", ("export", tmp_path / "files", "--graph")),
    }
    with ExitStack() as stack:
        wires, begun = {}, {}
        for name, (text, words) in moments.items():
            wire = Wire(empty_neo4j.url, text, "for good", cuts=1)
            wires[name] = stack.enter_context(wire)
            password = empty_neo4j.password
            begun[name] = start("main.py", *words, wire.url, SHEAF_NEO4J_PASSWORD=password)
            stack.callback(begun[name].kill)
        ended = {
            name: (each.communicate(timeout=60), each.returncode) for name, each in begun.items()
        }
    for name, ((_, said), code) in ended.items():
        assert (wires[name].cut, code) == (1, 3), (name, said)
        assert "cannot be reached" in said and len(said.splitlines()) == 1, (name, said)
    assert not (tmp_path / "files").exists()


def test_an_index_of_others_on_the_same_property_is_told_in_a_sentence(
    source: Path, empty_neo4j: AnyServer, tmp_path: Path
) -> None:
    """Neo4j makes no constraint where somebody has an index already."""
    ask(empty_neo4j, "DROP CONSTRAINT sheaf_media_path IF EXISTS")
    ask(empty_neo4j, "CREATE INDEX theirs FOR (m:Media) ON (m.path)")
    try:
        flags = ("--from", f"sqlite:{source}", "--graph", empty_neo4j.url)
        done = run_with(empty_neo4j, "main.py", "copy", *flags, cwd=tmp_path)
    finally:
        ask(empty_neo4j, "DROP INDEX theirs")
    assert done.returncode != 0
    assert "already exists an index (:Media {path})" in says(done, done.returncode)


# --- a harvest does not go on into a graph that lacks its beginning ----------------------------


def harvest(folder: Path, graph: Path, limit: int) -> subprocess.CompletedProcess[str]:
    flags = ("--state", folder / "state", "--graph", f"sqlite:{graph}", "--limit", limit)
    return run("main.py", "--sample", "--no-media", "-q", *flags, cwd=folder)


def refusal(folder: Path, graph: Path) -> str:
    """A log line before it may tell that the graph is another one."""
    done = harvest(folder, graph, 10)
    assert done.returncode == 6, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_harvest_goes_on_in_another_graph_only_after_it_was_copied(tmp_path: Path) -> None:
    a, b = tmp_path / "a.db", tmp_path / "b.db"
    assert harvest(tmp_path, a, 5).returncode == 0
    begun = records(a)
    assert begun["relation"]
    command = f"copy --from sqlite:{a} --graph sqlite:{b}"
    assert f"main.py {command}" in refusal(tmp_path, b)

    copied = run("main.py", *command.split(), cwd=tmp_path)
    assert copied.returncode == 0, copied.stderr
    assert records(b) == begun
    done = harvest(tmp_path, b, 10)
    assert done.returncode == 0, done.stderr
    assert records(a) == begun
    assert {row[0] for row in records(b)["relation"]} > {row[0] for row in begun["relation"]}


def test_the_graph_to_copy_is_the_one_the_harvest_went_into_last(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in ("a.db", "b.db", "c.db"))
    assert harvest(tmp_path, a, 1).returncode == 0
    with closing(SqliteGraph(a)) as old, closing(SqliteGraph(b)) as new:
        copy(old, new, unseen)
        hand_on(old, new)
    assert harvest(tmp_path, b, 2).returncode == 0
    assert f"main.py copy --from sqlite:{b} --graph sqlite:{c}" in refusal(tmp_path, c)
