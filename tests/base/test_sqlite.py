"""A file one writes and others read: opened right, all or nothing, and a sentence if it fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tools.base.sqlite import reading, stop_if_unwritable, transaction, writing
from tools.errors import StopHarvest


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(writing(tmp_path / "it?#.db", 1000)) as opened:
        opened.execute("CREATE TABLE word (text TEXT)")
        yield opened


def words(db: sqlite3.Connection) -> list[str]:
    return [text for (text,) in db.execute("SELECT text FROM word")]


def test_who_reads_waits_for_nobody_and_changes_nothing(
    tmp_path: Path, db: sqlite3.Connection
) -> None:
    with closing(reading(tmp_path / "it?#.db")) as other, transaction(db):
        db.execute("INSERT INTO word VALUES ('half')")
        assert words(other) == []
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            other.execute("DELETE FROM word")
    assert words(db) == ["half"]


def test_threads_that_share_it_have_each_their_own_answers(
    tmp_path: Path, db: sqlite3.Connection
) -> None:
    """Of Python's own kept statements one answers another's question, from Python 3.12 on."""
    db.executemany("INSERT INTO word VALUES (?)", [(str(at),) for at in range(16)])

    def asked(shared: sqlite3.Connection, at: int) -> set[tuple[str, ...]]:
        text = "SELECT text FROM word WHERE text = ?"
        return {row for _ in range(100) for row in shared.execute(text, (str(at),)).fetchall()}

    shared = reading(tmp_path / "it?#.db", any_thread=True)
    with closing(shared), ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(partial(asked, shared), range(16), timeout=60))
    assert answers == [{(str(at),)} for at in range(16)]


def test_no_statement_is_kept_for_threads(
    tmp_path: Path, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def noted(*places: Any, **how: Any) -> sqlite3.Connection:
        kept.append(how["cached_statements"])
        return connect(*places, **how)

    monkeypatch.setattr(sqlite3, "connect", noted)
    for any_thread in (True, False):
        reading(tmp_path / "it?#.db", any_thread).close()
    assert kept == [0, 128]


def test_a_file_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        reading(tmp_path / "none.db")
    assert not list(tmp_path.iterdir())


def test_the_log_is_never_carried_over_by_the_writer(db: sqlite3.Connection) -> None:
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (1,)
    assert db.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
    assert db.execute("PRAGMA cache_size").fetchone() == (-1000,)


def test_where_no_log_can_be_kept_nothing_is_written() -> None:
    with pytest.raises(sqlite3.OperationalError, match="no log can be kept beside it"):
        writing(Path(":memory:"), 1000)


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyboardInterrupt()])
def test_a_transaction_is_all_or_nothing(db: sqlite3.Connection, error: BaseException) -> None:
    with pytest.raises(type(error)), transaction(db):
        db.execute("INSERT INTO word VALUES ('half')")
        raise error
    assert words(db) == [] and not db.in_transaction


def test_the_second_writer_is_refused_at_once(tmp_path: Path, db: sqlite3.Connection) -> None:
    with closing(writing(tmp_path / "it?#.db", 1000)) as other, transaction(db):
        other.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(sqlite3.OperationalError, match="locked"), transaction(other):
            raise AssertionError("it may not begin")


def test_what_cannot_be_written_is_told_in_a_sentence(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA query_only = 1")
    said = r"^the words cannot be written \(.*readonly.*\): fix this, then start again$"
    with pytest.raises(StopHarvest, match=said), stop_if_unwritable("the words"), transaction(db):
        db.execute("INSERT INTO word VALUES ('lost')")
