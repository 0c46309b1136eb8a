"""The table of pages in PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.pages.table_contract import SEED, Open, TableContract, child, fetched
from tests.support.command import ROOT
from tests.support.postgres_server import PASSWORD, PostgresServer
from tools.errors import StateDamaged, StopHarvest, Unavailable, Unreachable, UsageError
from tools.pages.open_table import open_table, visit_table
from tools.pages.page import Analysed
from tools.pages.table import PageTable
from tools.tables.address import PASSWORD_VARIABLE

NOWHERE = Path("/nowhere")
END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class TestPostgresPages(TableContract):
    @pytest.fixture
    def open_again(self, postgres: PostgresServer) -> Open:
        address = postgres.database()
        return lambda: open_table(address, NOWHERE)


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)


@pytest.fixture
def running(own_postgres: PostgresServer) -> Iterator[PostgresServer]:
    yield own_postgres
    own_postgres.restart()


def test_another_table_of_this_name_is_refused(postgres: PostgresServer) -> None:
    address = postgres.database()
    postgres.query(address, "CREATE TABLE pages (id bigint, title text)")
    for opens in (open_table, visit_table):
        with pytest.raises(UsageError, match="has a table pages that is not one of ours"):
            opens(address, NOWHERE)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert postgres.query(address, tables) == [("pages",)]


def test_one_that_is_visited_is_not_made(postgres: PostgresServer) -> None:
    with pytest.raises(UsageError, match="no table of pages"):
        visit_table(postgres.database(), NOWHERE)


def test_the_password_comes_from_the_environment_or_a_file(
    own_postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = own_postgres.database()
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    file.chmod(0o600)
    open_table(address, NOWHERE, file).close()
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        open_table(address, NOWHERE, file)
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    open_table(address, NOWHERE).close()
    monkeypatch.setenv(PASSWORD_VARIABLE, "wrong secret")
    with pytest.raises(Unreachable, match="password authentication failed") as error:
        open_table(address, NOWHERE)
    assert "wrong secret" not in str(error.value)


@pytest.mark.parametrize(
    "address", ["postgresql://me:secret@h/db", "postgresql://me@h/db?password=secret"]
)
def test_a_password_in_the_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="must not stand in the address") as error:
        open_table(address, NOWHERE)
    assert "secret" not in str(error.value)


def test_an_address_that_cannot_be_read_is_told_without_its_secrets() -> None:
    with pytest.raises(UsageError, match="write it like postgresql") as error:
        open_table("postgresql://me:secret@h/db?nonsense=1", NOWHERE)
    assert "secret" not in str(error.value)


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    for place in (f"?host={tmp_path}", "?host=127.0.0.1&port=9"):
        with pytest.raises(Unreachable, match="cannot be reached") as error:
            open_table(f"postgresql://me@/db{place}", NOWHERE)
        assert error.value.exit_code == 3


def test_a_database_that_is_not_there_is_unreachable(postgres: PostgresServer) -> None:
    with pytest.raises(Unreachable, match="does not exist"):
        open_table(postgres.address("nothing"), NOWHERE)


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_may_go_away_and_come_back(
    running: PostgresServer, password: None, how: str
) -> None:
    with closing(open_table(running.database(), NOWHERE)) as table:
        table.admit([child(SEED)])
        running.stop(how)
        for _ in range(2):
            with pytest.raises(Unavailable, match="cannot be reached"):
                table.write([fetched()])
            with pytest.raises(Unavailable, match="cannot be reached"):
                table.page(SEED)
        running.start()
        assert table.write([fetched()]).dropped == set()
        assert table.write([Analysed(url=SEED, words={"cat": 1})]).dropped == set()
        assert [page.state for page in table.pages()] == [1]


def test_a_connection_that_breaks_amid_a_write_leaves_nothing_of_it(
    postgres: PostgresServer,
) -> None:
    address = postgres.database()
    with closing(open_table(address, NOWHERE)) as table:
        table.admit([child(SEED)])
        with pytest.raises(Unavailable), table._writing():  # type: ignore[attr-defined]
            table._admit([child("x", SEED)], "2026-01-01T00:00:00Z")  # type: ignore[attr-defined]
            postgres.query(address, END_OTHERS)
            table._admit([child("y", SEED)], "2026-01-01T00:00:00Z")  # type: ignore[attr-defined]
        assert urls(table) == [SEED]
        table.admit([child("x", SEED)])
        assert urls(table) == [SEED, "x"]


def urls(table: PageTable) -> list[str]:
    for _ in range(2):  # the reader's connection was ended, too
        try:
            return [page.url for page in table.pages()]
        except Unavailable:
            continue
    raise AssertionError("it does not come back")


def test_what_may_not_be_written_ends_the_crawl(postgres: PostgresServer) -> None:
    address = postgres.database()
    read_only = f"ALTER DATABASE {name_of(address)} SET default_transaction_read_only = on"
    with closing(open_table(address, NOWHERE)) as table:
        table.admit([child(SEED)])
        postgres.query(address, read_only)
        postgres.query(address, END_OTHERS)
        with pytest.raises(Unavailable):
            table.admit([child("x")])
        with pytest.raises(StopHarvest, match="cannot be written"):
            table.admit([child("x")])


def test_a_table_that_is_dropped_under_way_ends_the_crawl(postgres: PostgresServer) -> None:
    address = postgres.database()
    with closing(open_table(address, NOWHERE)) as table:
        postgres.query(address, "DROP TABLE pages")
        with pytest.raises(StateDamaged, match="has lost a table"):
            table.admit([child(SEED)])


def test_moments_are_moments_for_others(postgres: PostgresServer) -> None:
    address = postgres.database()
    with closing(open_table(f"{address}&options=-c%20TimeZone%3DAsia/Tokyo", NOWHERE)) as table:
        table.admit([child(SEED)])
        table.write([fetched()])
        page = table.page(SEED)
        assert page is not None and page.fetched_at == "1970-01-01T00:16:40.000Z"
    [[seconds]] = postgres.query(address, "SELECT extract(epoch FROM fetched_at) FROM pages")
    assert seconds == 1000


def test_the_driver_is_imported_only_for_its_addresses(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from tools.pages.open_table import open_table; "
        "open_table('sqlite:p.db', pathlib.Path(sys.argv[1])).close(); "
        "print('psycopg' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.check_output(words, cwd=ROOT, timeout=60) == b"False\n"


def name_of(address: str) -> str:
    return address.partition("?")[0].rpartition("/")[2]
