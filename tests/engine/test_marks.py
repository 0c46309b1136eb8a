"""What was at work when a process died comes last, then alone, and ends in `failed` if it kills."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.support.command import ROOT
from tools.engine.marks import ALONE, MOST
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage, Task
from tools.journal.reader import look
from tools.journal.snapshots import restore, snapshot

FETCH, EXTEND = Stage("fetch", 8), Stage("extend", 5)


def leased(pools: Pools, stage: Stage = FETCH, places: int = 100) -> list[Task]:
    tasks: list[Task] = []
    while new := pools.lease(stage, places):
        tasks += new
    return tasks


def uris(tasks: list[Task]) -> list[str]:
    return [task.uri for task in tasks]


class Lives:
    """The same state, opened by one process after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self.pools = Pools(self.file, [FETCH, EXTEND])

    @property
    def file(self) -> Path:
        return self._folder / str(self._number) / "pools.db"

    def die(self, *stages: Stage) -> Pools:
        """What the next process finds: the bytes that this one had handed to the system."""
        before = self.file
        self._number += 1
        shutil.copytree(before.parent, self.file.parent)
        self.pools.close()
        self.pools = Pools(self.file, stages or [FETCH, EXTEND])
        return self.pools

    def end(self) -> Pools:
        self.pools.close()
        self.pools = Pools(self.file, [FETCH, EXTEND])
        return self.pools


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    (tmp_path / "0").mkdir()
    lives = Lives(tmp_path)
    yield lives
    lives.pools.close()


def died_with(lives: Lives, uri: str, times: int) -> Pools:
    """So many processes died while this one was at work alone, before the others come."""
    lives.pools.discover(Found("fetch", [uri]))
    for _ in range(times):
        assert uris(leased(lives.pools)) == [uri]
        lives.die()
    return lives.pools


def test_what_was_at_work_when_a_process_died_goes_last(lives: Lives) -> None:
    lives.pools.discover(Found("fetch", ["a", "b", "c", "d"]))
    lives.pools.lease(FETCH, 2)
    assert uris(leased(lives.die())) == ["c", "d", "a", "b"]


def test_a_clean_end_marks_nobody(lives: Lives) -> None:
    lives.pools.discover(Found("fetch", ["a", "b"]))
    (task,) = lives.pools.lease(FETCH)
    lives.pools.retry_later(task, "the harvest was stopped", spent=False)
    assert uris(leased(lives.end())) == ["a", "b"]


ENDS: dict[str, Callable[[Pools, Task], object]] = {
    "moves on": lambda pools, task: pools.advance((task, Done("to_fetch"))),
    "comes back": lambda pools, task: pools.retry_later(task, "later"),
    "fails": lambda pools, task: pools.give_up(task, "never"),
}


@pytest.mark.parametrize("end", ENDS)
def test_any_orderly_end_clears_the_mark(lives: Lives, end: str) -> None:
    pools = died_with(lives, "a", ALONE)
    (task,) = leased(pools)
    ENDS[end](pools, task)
    pools.discover(Found("fetch", ["b"]))
    pools.revive()
    assert uris(pools.lease(FETCH, 2)) == ["a", "b"]


def test_with_three_marks_it_is_at_work_alone_in_all_stages(lives: Lives) -> None:
    pools = died_with(lives, "killer", ALONE)
    pools.discover(Found("fetch", ["a"]), Found("extend", ["b"]))
    (a,), (b,) = pools.lease(FETCH, 9), pools.lease(EXTEND, 9)
    assert (a.uri, b.uri) == ("a", "b")
    assert not pools.is_ready(FETCH)
    pools.advance((a, Done("finished")))
    assert not pools.is_ready(FETCH), "somebody is at work in another stage"
    pools.advance((b, Done("finished")))
    (killer,) = pools.lease(FETCH, 9)
    pools.discover(Found("fetch", ["c"]), Found("extend", ["d"]))
    assert not pools.is_ready(FETCH) and not pools.is_ready(EXTEND)
    pools.advance((killer, Done("finished")))
    assert uris(leased(pools)) == ["c"] and uris(leased(pools, EXTEND)) == ["d"]


def test_several_that_must_be_alone_come_one_after_the_other(lives: Lives) -> None:
    lives.pools.discover(Found("fetch", ["a", "b"]))
    for _ in range(ALONE):
        assert uris(leased(lives.pools)) == ["a", "b"]
        lives.die()
    for name in ("a", "b"):
        (task,) = leased(lives.pools)
        assert task.uri == name
        lives.pools.advance((task, Done("finished")))


def test_who_kills_alone_again_and_again_ends_in_failed_and_retry_begins_anew(
    lives: Lives,
) -> None:
    pools = died_with(lives, "killer", MOST)
    assert pools.counts()["failed"] == 1 and not leased(pools)
    assert pools.done(FETCH) == 1
    (reason,) = look(lives.file).failures
    assert reason.startswith(f"the process died {MOST} times while this was at work")
    assert pools.revive("the process died") == 1
    assert died_with(lives, "killer", ALONE).counts()["failed"] == 0


def test_random_deaths_of_a_healthy_harvest_fail_nobody(lives: Lives) -> None:
    """Sixty kills, each after some tasks have ended; a killed process leaves all it had."""
    chance = Random(7)
    names = [f"/c/en/{number}" for number in range(120)]
    lives.pools.discover(Found("fetch", names))
    for _ in range(60):
        tasks = lives.pools.lease(FETCH, FETCH.workers)
        for task in tasks[: chance.randrange(0, 4)]:
            lives.pools.advance((task, Done("finished")))
        lives.die()
    while tasks := leased(lives.pools):
        lives.pools.advance(*((task, Done("finished")) for task in tasks))
    assert sorted(lives.pools.finished) == sorted(names)


def test_a_level_waits_for_a_marked_one_above_it(lives: Lives) -> None:
    stage = Stage("fetch", 8, "levels")
    lives.pools.discover(Found("fetch", ["above"], depth=0))
    lives.pools.lease(FETCH)
    pools = lives.die(stage, EXTEND)
    pools.discover(Found("fetch", ["beside"], depth=0), Found("fetch", ["below"], depth=1))
    assert uris(pools.lease(stage, 9)) == ["beside"]
    (above,) = pools.lease(stage, 9)
    assert above.uri == "above" and not pools.lease(stage, 9)


def test_a_snapshot_that_is_resumed_marks_nobody(lives: Lives, tmp_path: Path) -> None:
    lives.pools.discover(Found("fetch", ["a", "b"]))
    lives.pools.lease(FETCH)
    taken = snapshot(lives.file)
    file = tmp_path / "resumed" / "pools.db"
    file.parent.mkdir()
    restore(taken, file)
    with closing(Pools(file, [FETCH])) as pools:
        assert uris(leased(pools)) == ["a", "b"]


KILLER = """
import os, pathlib, sys, time
from threading import Event
from tools.engine.harvest import Harvest
from tools.engine.stage import Done, Found, Stage

class Job:
    stages = (Stage("fetch", 3),)
    seeds = (Found("fetch", [f"/c/en/{number}" for number in range(14)]),)
    def work(self, task):
        if task.uri == "/c/en/1":
            os._exit(9)
        return Done("finished")
    workers = property(lambda self: {"fetch": self.work})
    store = staticmethod(lambda records: None)
    identity = choices = allowed = lambda self: {}

harvest = Harvest(Job(), pathlib.Path(sys.argv[1]), Event(), 3, 1.0)
harvest.run()
harvest.close()
"""


def test_a_task_that_kills_its_process_costs_only_itself(tmp_path: Path) -> None:
    file, codes = tmp_path / "pools.db", list[int]()
    while not codes or codes[-1] == 9:
        codes.append(subprocess.run([sys.executable, "-c", KILLER, file], cwd=ROOT).returncode)
        assert len(codes) <= MOST + 1, "it goes on for ever"
    assert codes == [9] * MOST + [0]
    seen = look(file)
    assert (seen.pools["finished"], seen.pools["failed"]) == (13, 1)
