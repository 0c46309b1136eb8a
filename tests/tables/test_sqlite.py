"""Declared tables in a file of SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables.document_contract import DocumentContract
from tests.tables.listing_contract import ListingContract
from tests.tables.target_contract import TABLES, TargetContract, brought, product
from tools.errors import StateDamaged, StopHarvest, UsageError
from tools.tables.target import Target, open_target, visit_target


class TestSqlite(ListingContract, DocumentContract, TargetContract):
    @pytest.fixture
    def address(self) -> str:
        return "sqlite:shop.db"

    def test_it_lies_in_its_folder(self, target: Target, folder: Path) -> None:
        target.write([brought(product("A"))])
        assert (folder / "shop.db").exists()

    def test_a_file_that_was_removed_is_not_written(self, target: Target, folder: Path) -> None:
        (folder / "shop.db").unlink()
        with pytest.raises(StateDamaged, match="was moved or removed"):
            target.write([brought(product("A"))])
        assert not (folder / "shop.db").exists()

    @pytest.mark.parametrize(
        "sql",
        [
            *("DELETE FROM product", "DROP TABLE product", "PRAGMA journal_mode = DELETE", "", ";"),
            "ATTACH 'other.db' AS other",
            "WITH old AS (SELECT 1) DELETE FROM product",
            "SELECT 1; DROP TABLE product",
        ],
    )
    def test_a_query_changes_nothing_and_opens_nothing(
        self, target: Target, folder: Path, sql: str
    ) -> None:
        target.write([brought(product("A"))])
        before = sorted(each.name for each in folder.iterdir())
        with pytest.raises(UsageError):
            target.select(sql)
        assert len(target.select("-- all\n/* of\nthem */ select sku FROM product")) == 1
        assert sorted(each.name for each in folder.iterdir()) == before

    def test_there_is_nothing_to_visit(self, folder: Path) -> None:
        assert visit_target("sqlite:none.db", folder) is None
        assert not (folder / "none.db").exists()


def test_what_is_no_database_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"no database " * 1000)
    with pytest.raises(StateDamaged, match="no database"):
        open_target("sqlite:x.db", tmp_path)
    assert (tmp_path / "x.db").read_bytes().startswith(b"no database")


def test_a_folder_that_cannot_be_written_ends_the_harvest(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StopHarvest, match="cannot be"):
        open_target("sqlite:file/x.db", tmp_path)


@pytest.mark.parametrize("address", ["shop.db", "sqlite://x", "oracle://me:secret@h/x", "sqlite:"])
def test_other_addresses_are_refused_without_what_they_hide(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write it like sqlite:PATH or postgresql://") as refused:
        open_target(address, tmp_path)
    assert "secret" not in str(refused.value)


def test_the_drivers_of_servers_are_not_loaded(tmp_path: Path) -> None:
    import subprocess
    import sys

    from tests.support.command import ROOT

    code = (
        "import sys, pathlib; from tools.tables.target import open_target; "
        "open_target('sqlite:a.db', pathlib.Path(sys.argv[1])).close(); "
        "print({'psycopg', 'pymysql'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "set()\n", done.stderr


def test_one_that_is_empty_has_no_tables(tmp_path: Path) -> None:
    open_target("sqlite:a.db", tmp_path).close()
    visitor = visit_target("sqlite:a.db", tmp_path)
    assert visitor is not None
    assert visitor.counts() == {} and visitor.owner(TABLES) is None
    visitor.close()
