"""The embedded store: the contract of all stores, and what is its own."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.store_contract import DOG_BARKS, DOG_IS_PET, StoreContract, image, write
from tools.add import Graph
from tools.conceptnet.graph import open_graph
from tools.errors import StateDamaged, StopHarvest, UsageError
from tools.graphs.sqlite import SqliteGraph, look


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "graph.db"


class TestSqliteGraph(StoreContract):
    @pytest.fixture
    def open_store(self, file: Path) -> Callable[[], Graph]:
        return lambda: SqliteGraph(file)


@pytest.fixture
def graph(file: Path) -> SqliteGraph:
    return SqliteGraph(file)


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def test_another_process_reads_while_a_transaction_is_open(file: Path, graph: SqliteGraph) -> None:
    write(graph, DOG_IS_PET)
    graph._db.execute("BEGIN IMMEDIATE")
    graph._db.execute("DELETE FROM relation")
    script = (
        "import pathlib, sys, tools.graphs.sqlite as g; print(*g.look(pathlib.Path(sys.argv[1])))"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, file], capture_output=True, text=True, timeout=60, check=True
    )
    assert other.stdout.split() == ["2", "1", "0"]
    graph._db.execute("ROLLBACK")
    graph.close()


def test_a_kind_without_files_is_absent(file: Path, graph: SqliteGraph) -> None:
    write(graph, DOG_BARKS)
    graph.attach({"/c/en/dog": [image("m/en/dog/image/0.png")]})
    graph.close()
    assert rows(file, "SELECT image, audio, visual FROM entity WHERE uri = '/c/en/dog'") == [
        ('["m/en/dog/image/0.png"]', None, None)
    ]
    assert rows(file, "SELECT name FROM entity WHERE image IS NOT NULL") == [("dog",)]


def test_names_come_from_the_uri_and_missing_texts_are_null(file: Path, graph: SqliteGraph) -> None:
    write(graph, DOG_BARKS._replace(license=None))
    graph.close()
    assert rows(file, "SELECT name, language, term, sense FROM entity ORDER BY uri") == [
        ("bark", "en", "/c/en/bark", None),
        ("dog", "en", "/c/en/dog", None),
    ]
    assert rows(file, "SELECT surfaceText, license FROM relation") == [(None, None)]


def test_neighbours_and_names_use_an_index(graph: SqliteGraph) -> None:
    for table, column in (("relation", "start_uri"), ("relation", "end_uri"), ("entity", "name")):
        query = f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE {column} = 'x'"
        plan = graph._db.execute(query).fetchone()[3]
        assert "SEARCH" in plan and "INDEX" in plan
    graph.close()


def test_a_graph_that_cannot_be_written_stops_the_harvest(graph: SqliteGraph) -> None:
    graph._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StopHarvest, match="cannot be written"):
        write(graph, DOG_IS_PET)
    graph.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StopHarvest, match=r"graph\.db cannot be written"):
        SqliteGraph(tmp_path / "file" / "graph.db")


def test_a_file_that_is_no_graph_is_refused_and_left_as_it_is(file: Path) -> None:
    file.write_bytes(b"somebody's holiday pictures" * 100)
    before = file.read_bytes()
    with pytest.raises(StateDamaged):
        SqliteGraph(file)
    assert file.read_bytes() == before


def test_an_unknown_kind_of_graph_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="sqlite:PATH"):
        open_graph("oracle:x")


def test_look_counts_without_touching(file: Path, graph: SqliteGraph) -> None:
    write(graph, DOG_IS_PET)
    assert look(file) == (2, 1, 0)
    graph.close()
