"""The rows behind the pools: damage, old formats, putting back to work, what is written beside."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.injection import wait_until
from tests.support.command import ROOT
from tests.support.state_file import make_old
from tools.base import checkpoint
from tools.engine import statefile as register
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.errors import StateDamaged
from tools.journal.check import inspect
from tools.journal.schema import count_pools


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pools.db"


# --- a damaged log -------------------------------------------------------------------------


def killed_amid(file: Path, moves: int) -> None:
    """A process that made so many moves and was killed: all of them are in its log only."""
    script = (
        "import os, pathlib, sys\n"
        "from tools.engine.pools import Pools\n"
        "from tools.engine.stage import Found, Stage\n"
        "pools = Pools(pathlib.Path(sys.argv[1]), [Stage('fetch', 1)])\n"
        "for number in range(int(sys.argv[2])):\n"
        "    pools.discover(Found('fetch', [f'/c/en/{number}']))\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(file), str(moves)], cwd=ROOT)
    assert done.returncode == 9


def known(file: Path) -> int:
    pools = Pools(file, [Stage("fetch", 1)])
    try:
        return sum(pools.counts().values())
    finally:
        pools.close()


def test_a_torn_log_loses_its_last_move_only(tmp_path: Path) -> None:
    """Cut at every kind of place in the last transaction."""
    original = tmp_path / "original" / "pools.db"
    original.parent.mkdir()
    killed_amid(original, 5)
    log = original.with_name("pools.db-wal")
    size, frame = log.stat().st_size, 24 + 4096
    for number, cut in enumerate([1, 23, 24, 25, 100, 4096, frame - 1]):
        file = tmp_path / str(number) / "pools.db"
        shutil.copytree(original.parent, file.parent)
        os.truncate(file.with_name("pools.db-wal"), size - cut)
        assert known(file) == 4


def test_a_flipped_byte_amid_the_log_is_refused_and_nothing_changed(tmp_path: Path) -> None:
    original = tmp_path / "original" / "pools.db"
    original.parent.mkdir()
    killed_amid(original, 5)
    size = original.with_name("pools.db-wal").stat().st_size
    for number, place in enumerate([9, 20, 32 + 10, 32 + 24 + 2000, size // 2]):
        file = tmp_path / str(number) / "pools.db"
        shutil.copytree(original.parent, file.parent)
        log = file.with_name("pools.db-wal")
        content = bytearray(log.read_bytes())
        content[place] ^= 1
        log.write_bytes(content)
        with pytest.raises(StateDamaged, match=r"pools.db-wal is damaged.*no good snapshot"):
            known(file)
        assert log.read_bytes() == content


def test_after_a_power_cut_the_end_of_the_log_may_be_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "pools.db"
    killed_amid(file, 5)
    log = file.with_name("pools.db-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    os.utime(log, (1.0, 1.0))  # long before this computer started
    assert 0 < known(file) < 5
    assert "power cut" in caplog.text


# --- the first format ----------------------------------------------------------------------


def test_a_state_of_the_first_format_is_refused_and_left_as_it_is(file: Path) -> None:
    make_old(file, uris={"/c/en/a": "to_fetch"})
    before = file.read_bytes()
    said = r"pools.db was written by an early Sheaf \(format 1, this one knows 3\); .*--fresh"
    with pytest.raises(StateDamaged, match=said):
        Pools(file, [Stage("fetch", 1)])
    assert file.read_bytes() == before


# --- putting back to work ------------------------------------------------------------------


def test_failed_ones_of_a_reason_go_back_to_work_in_their_order(file: Path) -> None:
    stage = Stage("fetch", 3)
    pools = Pools(file, [stage])
    pools.discover(Found("fetch", ["a", "b", "c", "d"]))
    reasons = {"a": "HTTP 404 for x", "b": "HTTP 500", "c": "http 404 for y"}
    for task in pools.lease(stage, 3):
        pools.give_up(task, reasons[task.uri])
    assert pools.revive("HTTP 404") == 2
    assert pools.done(stage) == 1
    assert [task.uri for task in pools.lease(stage, 9)] == ["a", "c", "d"]
    assert [task.attempts for task in pools.tasks(stage)] == [0, 0, 0]
    assert list(pools.failed) == ["b"]
    pools.close()


def test_revived_ones_are_known_after_a_restart(file: Path) -> None:
    stage = Stage("fetch", 1)
    pools = Pools(file, [stage])
    pools.discover(Found("fetch", ["a"]))
    (task,) = pools.lease(stage)
    pools.give_up(task, "gone")
    assert pools.revive() == 1
    pools.close()
    pools = Pools(file, [stage])
    assert list(pools.to_fetch) == ["a"]
    pools.close()


# --- counting at the start -----------------------------------------------------------------


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(statement)


def test_pools_are_counted_anew_at_each_start(file: Path) -> None:
    stages = [Stage("fetch", 1), Stage("extend", 1)]
    with closing(Pools(file, stages)) as pools:
        pools.discover(Found("fetch", ["a", "b", "c"]), Found("extend", ["d"]))
        (task,) = pools.lease(stages[0])
        pools.advance((task, Done("finished")))
        before = pools.counts()
    assert {name: count for name, count in before.items() if count} == {
        "to_fetch": 2,
        "to_extend": 1,
        "finished": 1,
    }
    change(file, "UPDATE tally SET counts = json_set(counts, '$.to_fetch', 7)")
    with closing(Pools(file, stages)) as pools:
        assert pools.counts() == before
        assert pools.done(stages[0]) == 1


def test_counting_sorts_nothing(file: Path) -> None:
    """Ten million rows to be sorted were half a gigabyte."""
    Pools(file, [Stage("fetch", 1)]).close()
    asked: list[str] = []
    with closing(sqlite3.connect(file)) as db:
        db.set_trace_callback(asked.append)
        count_pools(db, file)
        db.set_trace_callback(None)
        plans = [db.execute(f"EXPLAIN QUERY PLAN {each}").fetchall() for each in asked]
    assert not [step for plan in plans for *_, step in plan if "TEMP B-TREE" in step]
    assert any("SCAN uri" in step for plan in plans for *_, step in plan)


def test_uris_that_are_in_no_pool_are_damage(file: Path) -> None:
    with closing(Pools(file, [Stage("fetch", 1)])) as pools:
        pools.discover(Found("fetch", ["a", "b"]))
    change(file, "UPDATE uri SET pool = 99 WHERE uri = 'a'")
    with pytest.raises(StateDamaged, match=r"pools.db is damaged \(1 URIs are in no pool\)"):
        Pools(file, [Stage("fetch", 1)])
    assert inspect(file).trouble == "is damaged (1 URIs are in no pool)"


# --- what is written beside the moves ------------------------------------------------------


def test_what_a_job_counts_is_written_with_the_move_and_kept(file: Path) -> None:
    stage = Stage("fetch", 2)
    pools = Pools(file, [stage])
    pools.discover(Found("fetch", ["a", "b"]))
    first, second = pools.lease(stage, 2)
    pools.advance((first, Done("finished", tally={"media image x": 2})))
    pools.advance((first, Done("finished", tally={"media image x": 2})))  # it comes too late
    pools.advance((second, Done("finished", tally={"media image x": 1, "media audio x": 1})))
    pools.close()
    pools = Pools(file, [stage])
    pools.sample(pools.next_run(), 0.0, {})
    pools.close()
    with closing(sqlite3.connect(file)) as db:
        (counts,) = db.execute("SELECT counts FROM sample").fetchone()
    counted = {name: n for name, n in json.loads(counts).items() if name.startswith("media")}
    assert counted == {"media image x": 3, "media audio x": 1}


def test_samples_add_up_what_hosts_were_asked_and_old_ones_get_fewer(file: Path) -> None:
    pools = Pools(file, [Stage("fetch", 1)])
    pools.sample(1, 0.0, {"a": (1, 10)})
    pools.sample(1, 60.0, {"a": (2, 5), "b": (1, 1)})
    with closing(sqlite3.connect(file)) as db:
        totals = db.execute("SELECT requests, bytes FROM sample ORDER BY elapsed").fetchall()
        assert totals == [(1, 10), (4, 16)]
        with db:
            db.execute("UPDATE sample SET time = 1")
    pools.sample(pools.next_run(), 0.0, {})
    pools.close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT run, elapsed FROM sample").fetchall() == [(1, 0.0), (2, 0.0)]
        assert db.execute("SELECT * FROM host").fetchall() == [("a", 3, 15), ("b", 1, 1)]


# --- the log -------------------------------------------------------------------------------


def round_of(log: Path) -> int:
    """How often the log began again: SQLite counts it in the log's head."""
    return int.from_bytes(log.read_bytes()[12:16], "big")


def test_a_log_that_has_become_long_begins_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of the fifty writes two rows: the checkpointer is called once, and by the last one, so
    # that it is done when the writer carries over the rest.
    monkeypatch.setattr(register, "CHECKPOINT_EVERY", 100)
    monkeypatch.setattr(checkpoint, "LARGEST_LOG", 0)
    asked: list[str] = []
    log = file.with_name("pools.db-wal")
    with closing(Pools(file, [Stage("fetch", 1)])) as pools:
        pools._register._db.set_trace_callback(asked.append)
        for number in range(50):
            pools.discover(Found("fetch", [f"/c/en/{number}"]))
        wait_until(lambda: pools._register._checkpointer._is_bulk_done, "the bulk is carried over")
        pools.discover(Found("fetch", ["/c/en/the writer carries over the rest"]))
        assert checkpoint.CHECKPOINT in asked
        before = round_of(log)
        pools.discover(Found("fetch", ["/c/en/and begins again"]))
        assert round_of(log) == before + 1
        pools._register._db.set_trace_callback(None)


def test_a_log_does_not_begin_again_while_somebody_copies(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(register, "CHECKPOINT_EVERY", 50)
    monkeypatch.setattr(checkpoint, "LARGEST_LOG", 0)
    asked: list[str] = []
    with closing(Pools(file, [Stage("fetch", 1)])) as pools:
        pools._register._db.set_trace_callback(asked.append)
        with pools._register._checkpointer.at_rest():
            for number in range(500):
                pools.discover(Found("fetch", [f"/c/en/{number}"]))
        assert checkpoint.CHECKPOINT not in asked
        pools._register._db.set_trace_callback(None)
