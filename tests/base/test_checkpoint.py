"""The log that is carried over beside the writer: it begins again, however slow the disk is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from tests.faults.injection import wait_until
from tools.base import checkpoint
from tools.base.checkpoint import CHECKPOINT, Checkpointer
from tools.base.sqlite import writing

PATIENCE_S = 20.0


class SlowDisk:
    """The checkpointer's connection, on a disk that takes as long as the test wants."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.asked, self.may_go_on = Event(), Event()

    def execute(self, statement: str) -> object:
        self.asked.set()
        assert self.may_go_on.wait(PATIENCE_S)
        return self._db.execute(statement)

    def close(self) -> None:
        self._db.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "it.db"


@pytest.fixture
def db(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(writing(file, 1000)) as db:
        db.execute("CREATE TABLE word (text TEXT)")
        yield db


@pytest.fixture
def checkpointer(
    file: Path, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Checkpointer]:
    monkeypatch.setattr(checkpoint, "LARGEST_LOG", 0)
    with closing(Checkpointer(file, every_rows=1)) as checkpointer:
        yield checkpointer


def test_a_log_begins_again_though_the_next_stretch_was_due_before_the_last_was_done(
    checkpointer: Checkpointer, db: sqlite3.Connection
) -> None:
    """Two checkpoints at once SQLite refuses: a log under steady load became gigabytes long."""
    disk = SlowDisk(checkpointer._db)
    checkpointer._db = disk  # type: ignore[assignment]

    def write() -> None:
        db.execute("INSERT INTO word VALUES ('next')")
        checkpointer.written(1, db)

    write()
    assert disk.asked.wait(PATIENCE_S)
    disk.asked.clear()
    write()  # due again, while the disk is still busy with the first
    disk.may_go_on.set()
    wait_until(lambda: checkpointer._is_bulk_done, "the bulk is carried over")
    is_next_begun = checkpointer._due.is_set() or disk.asked.is_set()
    assert not is_next_begun, "the writer's turn comes first"
    asked: list[str] = []
    db.set_trace_callback(asked.append)
    write()
    assert CHECKPOINT in asked


def test_it_ends_though_more_is_due(checkpointer: Checkpointer, db: sqlite3.Connection) -> None:
    for number in range(200):
        db.execute("INSERT INTO word VALUES (?)", (str(number),))
        checkpointer.written(1, db)
    checkpointer.close()
    assert not checkpointer.is_alive()
