"""Emptying a graph in Neo4j, and how far a harvest into it is: only what is ours counts."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run, says
from tests.support.graph_world import COUNTS, fill, graph_in, in_neo4j
from tests.support.neo4j_server import AnyServer, ask, run_with
from tests.support.ports import closed_port
from tests.support.store_contract import image, relation, write
from tools.engine.pools import Pools
from tools.engine.stage import Found, Stage
from tools.graphs.open import name_of

SAID = "9 entities, 7 relations, 7 media"
FOREIGN = """CREATE (a:Person {name: 'Ada'})-[:KNOWS {since: 1833}]->(b:Person {name: 'Charles'}),
    (:Entity {name: 'no uri'})-[:BELONGS_TO]->(a), (:Media {title: 'no path'}), (b)-[:KNOWS]->(a)"""
OF_OURS = "n.uri IS NOT NULL OR n.path IS NOT NULL"


@pytest.fixture
def full(empty_neo4j: AnyServer) -> AnyServer:
    """A graph of ours and something of others beside it."""
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    ask(empty_neo4j, FOREIGN)
    return empty_neo4j


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state of a harvest that knows three concepts."""
    (tmp_path / "state").mkdir()
    with closing(Pools(tmp_path / "state/pools.db", [Stage("fetch", 8)])) as pools:
        pools.discover(Found("fetch", ["/c/en/dog", "/c/en/cat", "/c/en/pet"]))
    return tmp_path / "state"


def everything(server: AnyServer, where: str = "true") -> list[list[dict[str, Any]]]:
    """Whoever made it."""
    nodes = (
        f"MATCH (n) WHERE {where} RETURN labels(n) AS l, properties(n) AS p ORDER BY elementId(n)"
    )
    links = f"""MATCH (n)-[r]->(m) WHERE {where}
        RETURN type(r) AS t, properties(r) AS p, properties(n) AS n, properties(m) AS m
        ORDER BY elementId(r)"""
    return [ask(server, nodes), ask(server, links)]


def schema(server: AnyServer) -> list[dict[str, Any]]:
    return ask(
        server, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name ORDER BY name"
    )


def drop_our_schema(server: AnyServer) -> None:
    """An index that belongs to a constraint goes with it."""
    for kinds, kind in (("CONSTRAINTS", "CONSTRAINT"), ("INDEXES", "INDEX")):
        for row in ask(server, f"SHOW {kinds} YIELD name WHERE name STARTS WITH 'sheaf_'"):
            ask(server, f"DROP {kind} {row['name']}")


# --- clear.py ----------------------------------------------------------------------------------


def test_a_dry_run_says_what_is_there_and_makes_no_schema(
    empty_neo4j: AnyServer, state: Path, tmp_path: Path
) -> None:
    drop_our_schema(empty_neo4j)
    ask(
        empty_neo4j,
        """CREATE (a:Entity {uri: '/c/en/a'})-[:IsA {uri: '/a/1'}]->(:Entity {uri: '/c/en/b'}),
        (a)-[:PartOf {uri: '/a/2'}]->(:Entity {uri: '/c/en/c'}), (:Media {path: 'm/0.png'})""",
    )
    ask(empty_neo4j, FOREIGN)
    before = everything(empty_neo4j)
    done = run_with(empty_neo4j, "clear.py", "--dry-run", "--graph", empty_neo4j.url, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{empty_neo4j.url} holds 3 entities, 2 relations, 1 media\n" in done.stdout
    assert schema(empty_neo4j) == []
    assert everything(empty_neo4j) == before
    assert (state / "pools.db").exists()


def test_relations_of_others_with_a_type_of_ours_are_not_counted(empty_neo4j: AnyServer) -> None:
    """What has no URI is not deleted, not copied and not exported, so nobody must miss it."""
    ask(empty_neo4j, "CREATE (:Person {name: 'Ada'})-[:IsA]->(:Person {name: 'Countess'})")
    with closing(graph_in(empty_neo4j)) as graph:
        assert graph.counts() == (0, 0, 0)


def test_only_its_name_empties_what_is_ours_and_the_pools_are_set_aside(
    full: AnyServer, state: Path, tmp_path: Path
) -> None:
    before, foreign = everything(full), everything(full, f"NOT ({OF_OURS})")
    assert len(foreign[0]) == 4 and len(foreign[1]) == 3
    constraints = schema(full)
    flags = ("--graph", full.url)
    wrong = run_with(full, "clear.py", *flags, cwd=tmp_path, answers="graph.db\ny\n")
    assert (wrong.returncode, wrong.stderr) == (2, "")
    assert f"holds {SAID}\n" in wrong.stdout and "nothing was changed" in wrong.stdout
    assert everything(full) == before
    assert [path.name for path in state.iterdir() if path.name != "LOCK"] == ["pools.db"]

    answers = f"{name_of(full.url)}\ny\n"
    right = run_with(full, "clear.py", *flags, cwd=tmp_path, answers=answers)
    assert (right.returncode, right.stderr) == (0, "")
    assert "the graph is empty" in right.stdout and "aside-1" in right.stdout
    assert everything(full) == foreign
    assert schema(full) == constraints
    assert (state / "aside-1/pools.db").exists() and not (state / "pools.db").exists()


def test_it_is_emptied_a_page_at_a_time(
    empty_neo4j: AnyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entity in the middle must not take all of its relations along in one transaction."""
    monkeypatch.setattr("tools.graphs.neo4j.PAGE", 7)
    links = [relation("IsA", f"/c/en/{each}", "/c/en/hub") for each in range(30)]
    links += [relation("PartOf", "/c/en/hub", f"/c/en/{each}") for each in range(10)]
    told: list[int] = []
    with closing(graph_in(empty_neo4j)) as graph:
        write(graph, *links)
        graph.attach({"/c/en/hub": [image(f"m/{each}.png") for each in range(8)]})
        assert graph.counts() == (31, 40, 8)
        graph.clear(told.append)
        assert graph.counts() == (0, 0, 0)
    assert told == [7, 7, 7, 7, 2, 7, 3, 7, 1, 7, 7, 7, 7, 3]
    assert everything(empty_neo4j) == [[], []]


def test_a_server_that_does_not_answer_is_told_and_the_pools_stay(
    state: Path, tmp_path: Path
) -> None:
    url = f"neo4j://neo4j@127.0.0.1:{closed_port()}"
    done = run("clear.py", "--yes", "--graph", url, cwd=tmp_path)
    assert "cannot be reached" in says(done, 3)
    assert (state / "pools.db").exists()


# --- history.py --------------------------------------------------------------------------------


def test_history_counts_what_is_in_neo4j(full: AnyServer, state: Path, tmp_path: Path) -> None:
    before = everything(full)
    told = run_with(full, "history.py", "--graph", full.url, cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    words = told.stdout.split()
    graph = words[words.index("Graph") :]
    assert graph == ["Graph", "entities", "9", "relations", "7", "media", "7"]
    for_programs = run_with(full, "history.py", "--json", "--graph", full.url, cwd=tmp_path)
    assert (for_programs.returncode, for_programs.stderr) == (0, "")
    facts = json.loads(for_programs.stdout)
    assert facts["graph"] == COUNTS._asdict()
    assert facts["pools"]["to_fetch"] == 3
    assert everything(full) == before and len(in_neo4j(full)["media"]) == COUNTS.media + 1


def test_history_shows_the_pools_though_the_server_does_not_answer(
    state: Path, tmp_path: Path
) -> None:
    url = f"neo4j://neo4j@127.0.0.1:{closed_port()}"
    told = run("history.py", "--graph", url, cwd=tmp_path)
    assert "cannot be reached" in says(told, 0)
    assert "0 of 3 concepts done (0%)" in told.stdout and "to_fetch" in told.stdout
    assert "Graph" not in told.stdout
    for_programs = run("history.py", "--json", "--graph", url, cwd=tmp_path)
    assert "cannot be reached" in says(for_programs, 0)
    assert json.loads(for_programs.stdout)["pools"]["to_fetch"] == 3
