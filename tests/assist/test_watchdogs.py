"""What is looked after: whoever holds a stage lets it go again, and only that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from tests.engine.test_monitor import PATIENCE_S, EngineMaker, engine, wait_until  # noqa: F401
from tools.assist.watchdogs import DEATHS_EVERY_S, Backlog, Deaths, Overdue, Reserve
from tools.engine.committer import Committer
from tools.engine.monitor import Monitor
from tools.engine.pools import Pools
from tools.engine.stage import Done, Stage, Task
from tools.engine.threads import ThreadExecutor
from tools.journal.processes import Process


class Scene:
    """A stage that writes files and one that does not, with nothing to do."""

    def __init__(self, folder: Path) -> None:
        stages = (Stage("fetch", 2), Stage("extend", 3, folder=folder))
        self.pools = Pools(folder / "pools.db", stages)
        executor = ThreadExecutor(stages, dict.fromkeys(("fetch", "extend"), _work))
        self.fetch, self.extend = (
            Monitor(each, self.pools, executor, cast(Committer, None), 1, lambda _: None)
            for each in stages
        )
        self.told: list[str] = []
        self.hastened = 0
        self.waiting = 0
        self.begun = 0
        self.is_shipping = False

    def tell(self, title: str, text: str) -> None:
        self.told.append(title)

    def run_soon(self) -> bool:
        self.hastened += not self.is_shipping
        return not self.is_shipping

    @property
    def places(self) -> tuple[int, int]:
        return self.fetch._free_places(), self.extend._free_places()

    def backlog(self, limit: float) -> Callable[[], None]:
        both = [self.fetch, self.extend]
        begun = lambda: self.begun  # noqa: E731
        return Backlog(both, lambda: self.waiting, limit, self.tell, self.run_soon, begun)


def _work(task: Task) -> Done:
    raise AssertionError(task)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.pools.close()


def test_at_the_limit_media_wait_and_relations_go_on(scene: Scene) -> None:
    watch = scene.backlog(100)
    for scene.waiting in (0, 99):
        watch()
        assert scene.places == (2, 3)
    for scene.waiting in (100, 120, 91):
        watch()
        assert scene.places == (2, 0)
    assert scene.told == ["the outbox is full"] and scene.hastened == 1
    scene.waiting = 90
    watch()
    assert scene.places == (2, 3)


def test_the_files_of_unfinished_tasks_count_for_the_limit(scene: Scene) -> None:
    watch = scene.backlog(100)
    scene.waiting, scene.begun = 10, 89
    watch()
    assert scene.places == (2, 3)
    scene.begun = 90
    watch()
    assert scene.places == (2, 0)


def test_what_is_ended_early_is_shipped_as_soon_as_nobody_ships(scene: Scene) -> None:
    watch = scene.backlog(100)
    scene.waiting, scene.begun = 10, 90
    watch()
    assert scene.hastened == 1
    scene.is_shipping = True
    for scene.waiting, scene.begun in [(50, 50), (100, 0), (100, 0)]:
        watch()
    assert scene.hastened == 1
    scene.is_shipping = False
    for _ in range(3):
        watch()
    assert scene.hastened == 2


def test_who_lets_go_lets_go_of_its_own_hold_only(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog, free = scene.backlog(100), [0]
    monkeypatch.setattr(
        "tools.assist.watchdogs.disk_usage", lambda _: type("", (), {"free": free[0]})
    )
    reserve = Reserve([scene.extend], 1000, scene.tell)
    scene.waiting = 100
    reserve()
    backlog()
    assert scene.places == (2, 0)
    free[0] = 5000
    reserve()
    assert scene.places == (2, 0)
    scene.waiting = 0
    backlog()
    assert scene.places == (2, 3)
    assert scene.told == ["the disk is nearly full", "the outbox is full"]


# --- what takes too long -------------------------------------------------------------------


class Stuck:
    """The first attempts do not end before they are let go."""

    def __init__(self, attempts: int) -> None:
        self.may_end = Event()
        self.tried: list[Task] = []
        self._attempts = attempts

    def __call__(self, task: Task) -> Done:
        self.tried.append(task)
        if len(self.tried) <= self._attempts:
            assert self.may_end.wait(PATIENCE_S)
        return Done("finished", records=f"attempt {len(self.tried)}")


def scan_until(holds: Callable[[], bool], watch: Overdue) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never happened"
        watch()
        Event().wait(0.01)


def test_what_takes_too_long_goes_back_and_what_it_brings_is_ignored(
    engine: EngineMaker,  # noqa: F811
) -> None:
    stored: list[object] = []
    stuck = Stuck(1)
    harvest = engine({Stage("fetch", 2): stuck}, store=stored.extend)
    harvest.start("/c/en/dog")
    watch = Overdue(harvest.monitors, 0.5, 0.0)  # long enough for the second on a busy machine
    scan_until(lambda: len(harvest.pools.finished) == 1, watch)
    assert stored == ["attempt 2"] and [task.attempts for task in stuck.tried] == [0, 1]
    stuck.may_end.set()
    harvest.join()
    harvest.executor.close(PATIENCE_S)
    assert harvest.committer.close(PATIENCE_S) and stored == ["attempt 2"]


def test_what_takes_too_long_each_time_fails(engine: EngineMaker) -> None:  # noqa: F811
    stored: list[object] = []
    stuck = Stuck(2)
    harvest = engine(
        {Stage("fetch", 2): stuck}, 2, store=stored.extend, failed=lambda task, why: (task.uri, why)
    )
    harvest.start("/c/en/dog")
    scan_until(lambda: len(harvest.pools.failed) == 1, Overdue(harvest.monitors, 0.05, 0.0))
    assert stored == [("/c/en/dog", "not done within 0 s (after 2 attempts)")]
    stuck.may_end.set()


def test_what_comes_before_its_failure_is_stored_is_ignored(
    engine: EngineMaker,  # noqa: F811
) -> None:
    """Both wait for a store that is busy with something else."""
    stored: list[object] = []
    is_storing, may_store = Event(), Event()
    stuck = Stuck(1)

    def work(task: Task) -> Done:
        return Done("finished", records="other") if task.uri == "other" else stuck(task)

    def store(records: Sequence[object]) -> None:
        stored.extend(records)
        is_storing.set()
        assert may_store.wait(PATIENCE_S)

    harvest = engine({Stage("fetch", 2): work}, 1, store=store, failed=lambda *_: "failure")
    harvest.start("/c/en/dog", "other")
    assert is_storing.wait(PATIENCE_S)
    scan_until(lambda: not harvest.committer._inbox.empty(), Overdue(harvest.monitors, 0.05, 0.0))
    stuck.may_end.set()
    wait_until(lambda: harvest.executor.members()[0].at_work["fetch"] < 2, harvest.pools)
    may_store.set()
    assert harvest.join()["failed"] == 1 and stored == ["other", "failure"]


def test_who_waits_for_a_place_takes_no_time(engine: EngineMaker) -> None:  # noqa: F811
    """The only place is taken by one that was taken back: the next has not begun. That may be the
    same one again."""
    stuck = Stuck(1)
    harvest = engine({Stage("fetch", 1): stuck}, 2)
    harvest.start("stuck", "waits")
    wait_until(lambda: "fetch-1" in harvest.pools.on_fetch.values(), harvest.pools)
    watch = Overdue(harvest.monitors, 0.05, 0.0)
    scan_until(lambda: "" in harvest.pools.on_fetch.values(), watch)
    Event().wait(0.1)
    watch()
    assert list(harvest.pools.on_fetch.values()) == [""]
    stuck.may_end.set()
    assert harvest.join()["finished"] == 2
    tried = [(task.uri, task.attempts) for task in stuck.tried]
    assert sorted(tried) == [("stuck", 0), ("stuck", 1), ("waits", 0)]


def test_it_is_looked_for_now_and_then(engine: EngineMaker) -> None:  # noqa: F811
    stuck = Stuck(1)
    harvest = engine({Stage("fetch", 2): stuck})
    watch = Overdue(harvest.monitors, 0.05, scan_s=3600.0)
    watch()
    harvest.start("/c/en/dog")
    Event().wait(0.1)
    watch()
    assert len(stuck.tried) <= 1 and len(harvest.pools.on_fetch) <= 1
    stuck.may_end.set()
    assert harvest.join()["finished"] == 1 and len(stuck.tried) == 1


def test_deaths_of_some_minutes_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told, deaths = 1000.0, [], {"process 1": 0, "process 2": 0}
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def processes() -> list[Process]:
        why = "ended by signal 11"
        return [Process(name, 1.0, 0, 0, 0, n, 2.0, why) for name, n in deaths.items()]

    watch = Deaths(processes, lambda title, text: told.append(text))
    watch()
    assert told == []
    deaths["process 2"] += 1
    watch()
    assert told.pop() == ("process 2 died: ended by signal 11; what it worked on is tried again")
    for _ in range(5):
        deaths["process 1"] += 1
        watch()
    assert told == []
    now += DEATHS_EVERY_S
    watch()
    watch()
    assert len(told) == 1 and "process 1 died 5 times, at last: ended" in told[0]
