"""The table of pages in SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.pages.table_contract import Open, TableContract
from tools.errors import Fatal, StateDamaged, StopHarvest, UsageError
from tools.pages.open_table import open_table, visit_table
from tools.pages.page import Child


class TestSqlitePages(TableContract):
    @pytest.fixture
    def open_again(self, tmp_path: Path) -> Open:
        return lambda: open_table("sqlite:deep/pages.db", tmp_path)


def test_one_that_is_visited_is_not_made(tmp_path: Path) -> None:
    assert visit_table("sqlite:pages.db", tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    with closing(open_table("sqlite:pages.db", tmp_path)) as table:
        table.admit([Child("x", "https://x")])
        visited = visit_table("sqlite:pages.db", tmp_path)
        assert visited is not None
        with closing(visited), pytest.raises(StopHarvest, match="to be read only"):
            assert visited.page("x") == table.page("x")
            visited.admit([Child("y", "https://y")])


@pytest.mark.parametrize("columns", ["id INTEGER, title TEXT", "url TEXT"])
def test_another_table_of_this_name_is_refused(tmp_path: Path, columns: str) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute(f"CREATE TABLE pages ({columns})")
    with pytest.raises(UsageError, match="has a table pages that is not one of ours"):
        open_table("sqlite:other.db", tmp_path)
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("pages",)]


def refused(address: str, folder: Path, kind: type[Fatal]) -> str:
    with pytest.raises(kind) as error:
        open_table(address, folder)
    return str(error.value)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be taken for one " * 20)
    assert "damaged" in refused("sqlite:text", tmp_path, StateDamaged)
    assert "cannot be used" in refused("sqlite:text/pages.db", tmp_path, StopHarvest)
    for address in ("pages.db", "sqlite:", "mysql://me:secret@h/db", "sqlite://x"):
        said = refused(address, tmp_path, UsageError)
        assert "write it like sqlite:PATH" in said and "secret" not in said
