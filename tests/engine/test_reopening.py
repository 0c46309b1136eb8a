"""Moves of those that nobody holds."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage, Task

GET, LOOK = Stage("get", 9), Stage("look", 9, "levels")
SLOW_MACHINE = 10


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pools.db"


@pytest.fixture
def pools(file: Path) -> Iterator[Pools]:
    with closing(Pools(file, [GET, LOOK])) as pools:
        yield pools


def finish_all(pools: Pools, stage: Stage = GET) -> None:
    while tasks := pools.lease(stage, 1000):
        pools.advance(*((task, Done("finished")) for task in tasks))


def leased(pools: Pools, stage: Stage) -> list[str]:
    return [task.uri for task in pools.lease(stage, 100)]


def test_finished_ones_are_reopened_by_how_they_begin(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.engine.reopening.STRETCH", 3)
    names = [*(f"a/{n}" for n in range(8)), "a", "a/", "b/1", "a0", "a/\U0010fffe"]
    pools.discover(Found("get", names, depth=2))
    finish_all(pools)
    assert pools.reopen(LOOK, "a/") == 10
    assert sorted(leased(pools, LOOK)) == sorted(name for name in names if name.startswith("a/"))
    assert sorted(pools.finished) == ["a", "a0", "b/1"]
    assert pools.reopen(LOOK, "a/") == 0  # they are at work


def test_finished_ones_are_reopened_by_age(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.engine.reopening.STRETCH", 2)
    pools.discover(Found("get", ["a", "b", "c", "never at work"]))
    moments = iter([100.0, 200.0, 300.0])
    for task in pools.lease(GET, 3):
        with monkeypatch.context() as context:
            context.setattr("tools.engine.rows.time.time", lambda: next(moments))
            pools.advance((task, Done("finished")))
    assert pools.reopen(GET, before=200.0) == 1
    assert pools.reopen(GET, "c", before=250.0) == 0
    assert leased(pools, GET) == ["a", "never at work"]
    assert pools.reopen(GET) == 2
    assert leased(pools, GET) == ["b", "c"]


def test_what_waits_or_failed_can_be_reopened_too_but_not_what_is_at_work(pools: Pools) -> None:
    pools.discover(Found("get", ["a", "b", "c"]))
    first, second = pools.lease(GET, 2)
    pools.give_up(first, "gone")
    assert pools.reopen(LOOK, pools=["failed", "to_get"]) == 2
    assert pools.counts() == {
        **{"to_get": 0, "on_get": 1, "to_look": 2, "on_look": 0, "finished": 0, "failed": 0}
    }
    assert (leased(pools, GET), leased(pools, LOOK)) == ([], ["a", "c"])
    assert pools.still_leased([second])


def test_a_thousand_of_many_are_reopened_at_once(file: Path) -> None:
    Pools(file, [GET, LOOK]).close()
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(
            "INSERT INTO uri (uri, pool, depth) WITH RECURSIVE n(i) AS "
            "(SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
            "SELECT printf('/%d/%d', i / 1000, i % 1000), 0, 1 FROM n"
        )
    with closing(Pools(file, [GET, LOOK])) as pools:
        begun = time.thread_time()
        assert pools.reopen(LOOK, "/42/") == 1000
        assert time.thread_time() - begun < 0.05 * SLOW_MACHINE
        assert pools.ranks("to_look") == {1: 1000} and pools.ranks("to_get") == {}


def test_revived_ones_keep_their_attempts_and_those_with_too_many_stay(pools: Pools) -> None:
    pools.discover(Found("get", ["a"]), Found("look", ["b"]))
    rounds = 0
    while tasks := pools.lease(GET):
        pools.give_up(tasks[0], "gone")
        rounds += 1
        pools.revive("gone", GET, below=3)
    assert rounds == 3
    (other,) = pools.lease(LOOK)
    pools.give_up(other, "gone")
    assert pools.revive("gone", LOOK) == 1
    assert [task.attempts for task in pools.lease(LOOK)] == [0]
    assert list(pools.failed) == ["a"]
    assert pools.revive("gone", below=4) == 1
    assert [task.attempts for task in pools.lease(GET)] == [3]


def test_ranks_are_counted(pools: Pools) -> None:
    pools.discover(Found("look", ["a", "b"], depth=1), Found("look", ["c"], depth=4))
    pools.lease(LOOK)
    assert pools.ranks("to_look") == {1: 2, 4: 1}


def test_a_lease_in_bulk_is_one_statement(pools: Pools) -> None:
    pools.discover(Found("get", [str(n) for n in range(50)]))
    pools.lease(GET)
    asked: list[str] = []
    pools._register._db.set_trace_callback(asked.append)
    tasks: list[Task] = pools.lease(GET, 30)
    pools._register._db.set_trace_callback(None)
    assert len(tasks) == 30 and len([each for each in asked if "lease" in each]) == 1
    stored = dict(pools._register.read("SELECT id, token FROM lease"))
    assert {task.id: task.token for task in pools.tasks(GET)} == stored
