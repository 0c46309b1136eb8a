"""A state of the second format: read as it is, brought along whole or not at all."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tests.support.second_format import make_second
from tools.engine.pools import Pools
from tools.engine.stage import Stage
from tools.errors import StopHarvest
from tools.journal import migration
from tools.journal.check import inspect
from tools.journal.migration import TO_THIRD
from tools.journal.reader import failed, look
from tools.journal.schema import connect, create_state
from tools.journal.snapshots import restore

ROWS = [
    *((f"/c/en/{number}", "to_fetch", None, number % 4) for number in range(300)),
    *((f"/p/{number}", "to_export", 7 - number % 8, 1) for number in range(300)),
    ("/c/en/done", "finished", None, 0),
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return make_second(tmp_path / "old" / "pools.db", ROWS, leased=["/c/en/0"])


def content(path: Path) -> list[object]:
    """Every table and index, and what both formats hold in common."""
    with closing(sqlite3.connect(path)) as db:
        columns = "uri, pool, rank, depth, attempts, not_before, reason, failed_in"
        return [
            db.execute("PRAGMA user_version").fetchone(),
            db.execute("PRAGMA integrity_check").fetchall(),
            db.execute(f"SELECT {columns} FROM uri ORDER BY id").fetchall(),
            db.execute("SELECT id, stage FROM lease").fetchall(),
            db.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall(),
        ]


def layout(path: Path) -> dict[str, object]:
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        indexes = db.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql > ''")
        columns = {name: db.execute(f"PRAGMA table_info({name})").fetchall() for (name,) in tables}
        return {**columns, "indexes": {" ".join(sql.split()) for (sql,) in indexes}}


def test_it_becomes_what_a_new_one_is(
    old: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    migration.bring_along(old).close()
    create_state(tmp_path / "new.db")
    assert layout(old) == layout(tmp_path / "new.db")
    assert [record.getMessage() for record in caplog.records] == [
        f"{old} is of an older version of Sheaf: brought along to format 3"
    ]
    assert (inspect(old).trouble, inspect(old).format) == ("", 3)


def test_everybody_is_where_they_were_and_ranked_as_before(old: Path) -> None:
    fetch, export = Stage("fetch", 9), Stage("export", 9, "priority")
    with closing(Pools(old, [fetch, export])) as pools:
        assert pools.counts() == {
            **{"to_fetch": 300, "on_fetch": 0, "to_export": 300, "on_export": 0},
            **{"finished": 1, "failed": 0},
        }
        assert [task.rank for task in pools.lease(export, 300)] == sorted(
            rank or 0 for _, pool, rank, _ in ROWS if pool == "to_export"
        )
        assert pools.lease(fetch)[0].uri == "/c/en/1"  # the other was at work when a process died


def test_whoever_only_looks_changes_nothing(old: Path) -> None:
    before = {path.name: path.read_bytes() for path in old.parent.iterdir()}
    seen = look(old)
    assert (seen.format, seen.pools["to_fetch"], seen.pools["on_fetch"]) == (2, 299, 1)
    assert failed(old) == [] and inspect(old).trouble == ""
    assert old.read_bytes() == before["pools.db"] and content(old)[0] == (2,)


def test_a_snapshot_of_it_can_be_resumed_and_stays_as_it_is(old: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(old)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    before, new = old.read_bytes(), tmp_path / "pools.db"
    restore(old, new)
    with closing(Pools(new, [Stage("fetch", 1)])) as pools:
        assert pools.lease(Stage("fetch", 1))[0].uri == "/c/en/0"
    assert (content(new)[0], old.read_bytes()) == ((3,), before)


KILLED = """
import os, pathlib, signal, sys
from tools.journal import migration

class Statements(tuple):
    def __iter__(self):
        for number, statement in enumerate(tuple.__iter__(self)):
            if number == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement

connect = migration.connect
def with_small_cache(path):  # so that what is not committed yet is written, too
    db = connect(path)
    db.execute("PRAGMA cache_size = 1")
    return db
migration.connect = with_small_cache
migration.TO_THIRD = Statements(migration.TO_THIRD)
migration.bring_along(pathlib.Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("number", [0, 1, 5, len(TO_THIRD) - 1, len(TO_THIRD)])
def test_a_kill_amid_it_leaves_one_format_or_the_other(
    old: Path, tmp_path: Path, number: int
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, old, str(number)], cwd=ROOT, timeout=60)
    assert done.returncode == -signal.SIGKILL
    copy = tmp_path / "copy"
    shutil.copytree(old.parent, copy)
    is_whole = number == len(TO_THIRD)
    assert content(copy / "pools.db")[:2] == [(3 if is_whole else 2,), [("ok",)]]
    with closing(Pools(old, [Stage("fetch", 1), Stage("export", 1)])) as pools:
        assert sum(pools.counts().values()) == len(ROWS)
    assert content(old)[0] == (3,)


def test_a_full_disk_gives_a_sentence_and_leaves_the_old_one(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> sqlite3.Connection:
        db = connect(path)
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
        return db

    before = content(old)
    monkeypatch.setattr(migration, "connect", full)
    with pytest.raises(StopHarvest, match=r"pools.db cannot be used .*full.* start again"):
        Pools(old, [Stage("fetch", 1)])
    assert content(old) == before
    monkeypatch.undo()
    Pools(old, [Stage("fetch", 1), Stage("export", 1)]).close()
    assert content(old)[0] == (3,)
