"""The data behind the pages, over an embedded graph."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.store_contract import relation, write
from tests.web.data_contract import DataContract, fill
from tests.web.scene import scramble
from tools.add import Graph
from tools.conceptnet.graph import open_reader
from tools.errors import StateDamaged, UsageError
from tools.graphs.reader import Reader
from tools.graphs.sqlite import SqliteGraph
from tools.web.data import gallery, search
from tools.web.data.growing import Grower
from tools.web.data.sidecar import Sidecar


@pytest.fixture
def open_store(tmp_path: Path) -> Callable[[], Graph]:
    return lambda: SqliteGraph(tmp_path / "graph.db")


@pytest.fixture
def open_data(tmp_path: Path) -> Callable[[], Reader]:
    return lambda: open_reader(f"sqlite:{tmp_path / 'graph.db'}")


class TestData(DataContract): ...


def test_whoever_only_reads_a_graph_has_not_changed_it(tmp_path: Path) -> None:
    """Though SQLite makes an empty log for him."""
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        fill(graph)
    with closing(open_reader(f"sqlite:{tmp_path / 'graph.db'}")) as reader:
        mark, log = reader.change_mark(), tmp_path / "graph.db-wal"
        assert log.exists()
        log.unlink()
        assert reader.change_mark() == mark


def test_figures_are_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes between any two questions."""
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        fill(graph)
        more = (relation("IsA", f"/c/en/new_{at}", f"/c/en/newer_{at}") for at in count())

        class Busy(sqlite3.Connection):
            def execute(self, *asked: Any) -> sqlite3.Cursor:
                if asked[0].startswith("SELECT"):
                    write(graph, next(more))
                return super().execute(*asked)

        connect = partial(sqlite3.connect, factory=Busy)
        with closing(open_reader(f"sqlite:{tmp_path / 'graph.db'}")) as reader:
            monkeypatch.setattr("tools.base.sqlite.sqlite3.connect", connect)
            found = reader.numbers()
    assert all(number > 0 for number in found.degrees.values())
    assert sum(found.degrees.values()) == found.counts.entities
    assert sum(found.languages.values()) == found.counts.entities
    assert sum(each.number for each in found.types) == found.counts.relations


def test_a_missing_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no graph"):
        open_reader(f"sqlite:{tmp_path / 'none.db'}")
    assert not (tmp_path / "none.db").exists()


def test_a_damaged_graph_is_told_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with closing(SqliteGraph(path)) as graph:
        fill(graph)
    scramble(path)
    with closing(open_reader(f"sqlite:{path}")) as reader:
        for question in (
            lambda: reader.senses("dog", 1),
            lambda: reader.entity_page("", 1),
            lambda: reader.numbers(),
        ):
            with pytest.raises(StateDamaged, match=r"graph\.db is damaged .*: bring back a copy"):
                question()
    path.write_bytes(b"no database at all, but long enough" * 100)
    with pytest.raises(StateDamaged, match="is damaged"):
        open_reader(f"sqlite:{path}")


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough" * 100])
def test_a_spoilt_search_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        fill(graph)
    (tmp_path / "search.db").write_bytes(content)
    with (
        closing(open_reader(f"sqlite:{tmp_path / 'graph.db'}")) as reader,
        closing(Sidecar(tmp_path / "search.db")) as sidecar,
    ):
        assert [each.name for each in search.find(reader, sidecar, "dog")] == [
            "dog"
        ]  # from the graph
        grow(reader, sidecar)
        assert len(search.find(reader, sidecar, "dog")) == 4


@pytest.mark.parametrize("first", ["a search", "a gallery", "a step"])
def test_a_search_file_that_is_spoilt_inside_is_made_anew(tmp_path: Path, first: str) -> None:
    """It opens well, and the damage shows to whoever comes first."""
    path = tmp_path / "search.db"
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        fill(graph)
    with closing(open_reader(f"sqlite:{tmp_path / 'graph.db'}")) as reader:
        with closing(Sidecar(path)) as sidecar:
            grow(reader, sidecar)
        scramble(path)
        with closing(Sidecar(path)) as sidecar:
            if first == "a search":
                assert [each.name for each in search.find(reader, sidecar, "dog")] == ["dog"]
            if first == "a gallery":
                assert gallery.facets(sidecar, gallery.Filter()).total == 0
            grow(reader, sidecar)
            assert len(search.find(reader, sidecar, "dog")) == 4
            assert gallery.facets(sidecar, gallery.Filter()).total == 7


def test_who_finds_the_damage_later_leaves_the_new_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    with closing(Sidecar(path)) as one, closing(Sidecar(path)) as other:
        damaged = one.file
        one.renew(damaged)
        new = path.stat().st_ino
        one.renew(damaged)  # by another thread
        other.renew(damaged)  # by another process
        assert path.stat().st_ino == new == one.file == other.file != damaged


def grow(reader: Reader, sidecar: Sidecar) -> None:
    grower = Grower(reader, sidecar)
    while grower.step():
        pass
    assert grower.is_whole()


def test_steps_are_bounded_and_go_on_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.web.data.growing.STEP", 5)
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        fill(graph)
    steps = 0
    with closing(open_reader(f"sqlite:{tmp_path / 'graph.db'}")) as reader:
        more = True
        while more:  # opened anew each time, as after a kill
            with closing(Sidecar(tmp_path / "search.db")) as sidecar:
                more = Grower(reader, sidecar).step()
                steps += more
        with closing(Sidecar(tmp_path / "search.db")) as sidecar:
            (concepts,) = sidecar.reading.execute("SELECT count(*) FROM concept").fetchone()
            (files,) = sidecar.reading.execute("SELECT count(*) FROM file").fetchone()
            (counted,) = sidecar.reading.execute("SELECT sum(number) FROM bucket").fetchone()
    assert (concepts, files, counted) == (17, 7, 7)
    assert steps == 4 + 2
