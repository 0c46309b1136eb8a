"""Monitors: limits kept, places freed at once, an exact end, and what becomes of each error."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Barrier, Event, Semaphore, Thread, current_thread

import pytest

from tools.engine import monitor as monitor_module
from tools.engine import rests, returns
from tools.engine.committer import Committer, Store
from tools.engine.monitor import Monitor
from tools.engine.pools import Pools
from tools.engine.receiver import receiver
from tools.engine.returns import Failed, no_record
from tools.engine.stage import Done, Finisher, Found, Stage, Task, Worker
from tools.engine.threads import ThreadExecutor
from tools.errors import ComeBack, Fatal, GiveUp, Interrupted, RetryLater, StopHarvest, Unavailable
from tools.journal.reader import look

PATIENCE_S = 60.0


class Engine:
    """Pools and monitors over workers made of plain functions."""

    def __init__(
        self,
        file: Path,
        stages: dict[Stage, Worker],
        attempts: int = 3,
        store: Store = lambda records: None,
        failed: Failed = no_record,
    ) -> None:
        self.file = file
        self.pools = Pools(file, list(stages))
        self.ends: list[Fatal | None] = []
        self.committer = Committer(self.pools, store, self.ends.append)
        self.committer.start()
        self.executor = ThreadExecutor(stages, {each.name: work for each, work in stages.items()})
        self.monitors: list[Monitor] = []
        for stage, work in stages.items():
            self.monitors.append(
                Monitor(
                    stage,
                    self.pools,
                    self.executor,
                    self.committer,
                    attempts,
                    self.ends.append,
                    tuple(self.monitors),
                    work.begun if isinstance(work, Finisher) else tuple,
                    failed,
                )
            )
        self.executor.open(receiver(self.pools, self.monitors))

    def start(self, *uris: str) -> None:
        self.pools.discover(Found(self.monitors[0].stage.name, uris))
        for monitor in self.monitors:
            monitor.start()

    def run(self, *uris: str) -> dict[str, int]:
        self.start(*uris)
        return self.join()

    def close(self) -> None:
        for monitor in self.monitors:
            monitor.stop()
        self.executor.close(0.0)
        self.committer.close(10)
        self.pools.close()

    def join(self) -> dict[str, int]:
        for monitor in self.monitors:
            monitor.join(PATIENCE_S)
            assert not monitor.is_alive(), f"{monitor.name} does not end"
        return self.pools.counts()


EngineMaker = Callable[..., Engine]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineMaker]:
    monkeypatch.setattr(returns, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(rests, "FIRST_S", 0.01)
    made: list[Engine] = []

    def make(
        stages: dict[Stage, Worker],
        attempts: int = 3,
        store: Store = lambda records: None,
        failed: Failed = no_record,
    ) -> Engine:
        made.append(Engine(tmp_path / f"pools{len(made)}.db", stages, attempts, store, failed))
        return made[-1]

    yield make
    for each in made:
        each.close()


def names(count: int) -> list[str]:
    return [f"/c/en/{n}" for n in range(count)]


def finish(_task: Task) -> Done:
    return Done("finished")


def wait_until(holds: Callable[[], bool], pools: Pools) -> None:
    deadline = time.monotonic() + PATIENCE_S
    with pools.changed:
        while not holds():
            left = deadline - time.monotonic()
            assert left > 0, "it never happened"
            pools.changed.wait(min(left, 0.05))


def test_never_more_at_once_than_the_stage_allows(engine: EngineMaker) -> None:
    places = Semaphore(3)
    most: list[int] = []

    def work(task: Task) -> Done:
        assert places.acquire(blocking=False), "a fourth task at once"
        most.append(len(harvest.pools.on_fetch))
        places.release()
        return Done("finished")

    harvest = engine({Stage("fetch", 3): work})
    assert harvest.run(*names(200))["finished"] == 200
    assert max(most) <= 3
    assert harvest.ends == [None]


def test_a_place_is_free_at_once(engine: EngineMaker) -> None:
    """40 tasks of 50 ms, eight at a time, are 250 ms of work; polling made it many times that."""
    never = Event()

    def seconds() -> float:
        stages = {Stage("fetch", 8): lambda _: Done("finished") if never.wait(0.05) else finish(_)}
        harvest, begun = engine(stages), time.monotonic()
        harvest.run(*names(40))
        return time.monotonic() - begun

    assert any(seconds() < 1.5 for _ in range(5))  # a busy machine is not always busy


def test_each_task_at_work_has_a_thread_of_its_own_named_for_it(engine: EngineMaker) -> None:
    together = Barrier(4)
    places: list[tuple[str, Thread]] = []

    def work(task: Task) -> Done:
        assert harvest.pools.on_fetch[task.uri] == task.holder
        assert current_thread().name == f"fetch {task.uri}"
        places.append((task.holder, current_thread()))
        together.wait(PATIENCE_S)  # four tasks are at work, in four threads
        return Done("finished")

    harvest = engine({Stage("fetch", 4): work})
    assert harvest.run(*names(20))["finished"] == 20
    assert dict(places).keys() == {"fetch-1", "fetch-2", "fetch-3", "fetch-4"}
    assert len(set(places)) == len(set(dict(places).values())) == 4, "a place is one thread"


def test_who_waits_for_the_store_holds_nothing_else_meanwhile(engine: EngineMaker) -> None:
    """A result waits, another place becomes free: what is next goes there."""
    is_storing, may_store = Event(), Event()
    seen: list[dict[str, str | None]] = []

    def store(_: Sequence[object]) -> None:
        is_storing.set()
        may_store.wait(PATIENCE_S)

    def work(task: Task) -> Done:
        if task.uri == "fails":
            is_storing.wait(PATIENCE_S)
            Event().wait(0.05)  # so long the thread of what is stored has nothing to do
            raise GiveUp("HTTP 404")
        if task.uri == "next":
            seen.append(dict(harvest.pools.on_fetch))
            may_store.set()
        return Done("finished", records=task.uri)

    harvest = engine({Stage("fetch", 2): work}, store=store)
    harvest.run("stored", "fails", "next")
    assert seen == [{"stored": "fetch-1", "next": "fetch-2"}]


def test_threads_are_used_again_and_end_with_the_stage(engine: EngineMaker) -> None:
    used: set[Thread] = set()

    def work(task: Task) -> Done:
        used.add(current_thread())
        return Done("finished")

    harvest = engine({Stage("fetch", 4): work})
    harvest.run(*names(200))
    assert len(used) < 20
    for thread in used:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_what_a_task_finds_is_worked_on(engine: EngineMaker) -> None:
    def work(task: Task) -> Done:
        number = int(task.uri)
        return Done(
            "finished", [Found("fetch", [str(n) for n in (2 * number, 2 * number + 1) if n < 500])]
        )

    assert engine({Stage("fetch", 4): work}).run("1")["finished"] == 499


def test_a_later_stage_ends_after_the_stages_that_feed_it(engine: EngineMaker) -> None:
    """The last fetch is slow: the extend stage must wait for it, idle, and not for ever."""
    release = Event()

    def fetch(task: Task) -> Done:
        if task.uri == "/c/en/0":
            release.wait(PATIENCE_S)
        return Done("to_extend")

    harvest = engine({Stage("fetch", 2): fetch, Stage("extend", 2): finish})
    harvest.start(*names(10))
    wait_until(lambda: len(harvest.pools.finished) == 9, harvest.pools)
    assert harvest.monitors[1].is_alive()
    release.set()
    assert harvest.join()["finished"] == 10


def test_the_last_task_failing_slowly_is_tried_again_and_the_run_ends(engine: EngineMaker) -> None:
    tries: Counter[str] = Counter()

    def work(task: Task) -> Done:
        tries[task.uri] += 1
        if tries[task.uri] == 1:
            Event().wait(0.1)
            raise RetryLater("the store is slow and then fails")
        return Done("finished")

    assert engine({Stage("fetch", 1): work}).run("/c/en/last")["finished"] == 1


def test_a_permanent_error_fails_at_once_with_its_reason(engine: EngineMaker) -> None:
    tries: Counter[str] = Counter()

    def work(task: Task) -> Done:
        tries[task.uri] += 1
        raise GiveUp("HTTP 404")

    harvest = engine({Stage("fetch", 2): work})
    assert harvest.run("/c/en/gone")["failed"] == 1
    assert tries == {"/c/en/gone": 1}
    assert look(harvest.file).failures == {"HTTP 404": 1}


def test_a_transient_error_is_tried_again_and_given_up_in_the_end(engine: EngineMaker) -> None:
    tries: Counter[str] = Counter()

    def work(task: Task) -> Done:
        tries[task.uri] += 1
        raise RetryLater("it answers nonsense")

    harvest = engine({Stage("fetch", 2): work}, attempts=4)
    assert harvest.run("/c/en/odd", "/c/en/too")["failed"] == 2
    assert tries == {"/c/en/odd": 4, "/c/en/too": 4}
    assert look(harvest.file).failures == {"it answers nonsense (after 4 attempts)": 2}


def test_a_bug_in_a_worker_is_logged_once_and_costs_one_uri(
    engine: EngineMaker, caplog: pytest.LogCaptureFixture
) -> None:
    def work(task: Task) -> Done:
        if task.uri == "/c/en/3":
            raise KeyError("oops")
        return Done("finished")

    harvest = engine({Stage("fetch", 2): work})
    assert harvest.run(*names(10)) | {"finished": 9, "failed": 1} == harvest.pools.counts()
    bugs = [record for record in caplog.records if record.exc_info]
    assert len(bugs) == 1 and "/c/en/3" in bugs[0].getMessage()
    assert look(harvest.file).failures == {"a bug in Sheaf: KeyError('oops')": 1}


def test_a_source_that_is_down_spends_no_attempts_and_the_stage_goes_on_by_itself(
    engine: EngineMaker, caplog: pytest.LogCaptureFixture
) -> None:
    calls: Counter[str] = Counter()

    def work(task: Task) -> Done:
        calls["all"] += 1
        if calls["all"] <= 8:
            raise Unavailable("HTTP 502")
        assert task.attempts == 0
        return Done("finished")

    harvest = engine({Stage("fetch", 4): work}, attempts=2)
    assert harvest.run(*names(20))["finished"] == 20
    pauses = [float(record.getMessage().split()[3]) for record in caplog.records]
    assert len(pauses) >= 5 and pauses[-1] > 3 * pauses[0]


def test_a_task_that_must_wait_for_something_holds_up_nobody_and_spends_nothing(
    engine: EngineMaker,
) -> None:
    seen: list[tuple[str, int]] = []

    def work(task: Task) -> Done:
        seen.append((task.uri, task.attempts))
        if task.uri == "a" and len(seen) < 100 and {uri for uri, _ in seen} != set("abcd"):
            raise ComeBack("the provider rests", 0.05)
        return Done("finished")

    assert engine({Stage("fetch", 1): work}, attempts=1).run(*"abcd")["finished"] == 4
    assert len(seen) < 100, "the others waited for it"
    assert [uri for uri, _ in seen].count("a") > 1
    assert {attempts for _, attempts in seen} == {0}


def test_after_a_pause_one_task_goes_ahead_before_the_others_follow(engine: EngineMaker) -> None:
    outcomes = iter(["down", "slow"])
    beside_the_first: list[int] = []

    def work(task: Task) -> Done:
        outcome = next(outcomes, "")
        if outcome == "down":
            raise Unavailable("HTTP 502")
        if outcome == "slow":
            Event().wait(0.05)  # time enough for others to be handed out, if they were
            beside_the_first.append(len(harvest.pools.on_fetch) - 1)
        return Done("finished")

    harvest = engine({Stage("fetch", 8): work})
    harvest.monitors[0]._returns.rests.begin("the source", None)  # the source was down just now
    harvest.run(*names(30))
    assert beside_the_first == [0]


def test_a_fatal_error_gives_the_uri_back_and_is_reported(engine: EngineMaker) -> None:
    def work(task: Task) -> Done:
        raise StopHarvest("disk full")

    harvest = engine({Stage("fetch", 1): work})
    harvest.start("/c/en/dog")
    wait_until(lambda: bool(harvest.ends), harvest.pools)
    harvest.monitors[0].stop()
    assert harvest.join()["to_fetch"] == 1
    assert isinstance(harvest.ends[0], StopHarvest)


def test_pause_hands_out_nothing_and_resume_goes_on(engine: EngineMaker) -> None:
    harvest = engine({Stage("fetch", 2): finish})
    harvest.monitors[0].pause()
    harvest.start(*names(5))
    assert not harvest.monitors[0].is_over()
    assert harvest.pools.counts()["to_fetch"] == 5
    harvest.monitors[0].resume()
    assert harvest.join()["finished"] == 5


class Gated:
    """Every task waits until it is let go; who began what."""

    def __init__(self) -> None:
        self.begun: list[Task] = []
        self.gates: dict[str, Event] = {}

    def __call__(self, task: Task) -> Done:
        gate = self.gates.setdefault(task.uri, Event())
        self.begun.append(task)
        assert gate.wait(PATIENCE_S)
        return Done("finished")

    def let_go(self, task: Task) -> None:
        self.gates[task.uri].set()

    def at(self, place: str) -> Task:
        return next(task for task in reversed(self.begun) if task.holder == place)


def test_a_paused_slot_ends_its_step_and_the_others_go_on(engine: EngineMaker) -> None:
    work = Gated()
    harvest = engine({Stage("fetch", 3): work})
    (monitor,) = harvest.monitors
    harvest.start(*names(8))
    wait_until(lambda: len(work.begun) == 3, harvest.pools)
    monitor.pause(2)
    assert list(monitor.paused) == [2] and not monitor.is_paused
    for count in (4, 5):  # while it is still at work, the others are given more
        work.let_go(work.at("fetch-1"))
        wait_until(lambda count=count: len(work.begun) == count, harvest.pools)  # type: ignore[misc]
    work.let_go(work.at("fetch-2"))
    wait_until(lambda: len(harvest.pools.finished) == 3, harvest.pools)
    work.let_go(work.at("fetch-3"))
    wait_until(lambda: len(work.begun) == 6, harvest.pools)
    assert sorted(task.holder for task in work.begun[3:]) == ["fetch-1", "fetch-1", "fetch-3"]
    assert len(harvest.pools.on_fetch) == 2
    monitor.resume(2)
    wait_until(lambda: len(work.begun) == 7, harvest.pools)
    assert work.begun[6].holder == "fetch-2"
    for task in work.begun[4:]:
        work.let_go(task)
    wait_until(lambda: len(work.begun) == 8, harvest.pools)
    work.let_go(work.begun[7])
    assert harvest.join()["finished"] == 8


def test_all_slots_paused_is_the_stage_paused(engine: EngineMaker) -> None:
    harvest = engine({Stage("fetch", 2): finish})
    (monitor,) = harvest.monitors
    monitor.pause(1)
    monitor.pause(2)
    monitor.pause(99)  # nobody has this number
    assert monitor.is_paused and list(monitor.paused) == [1, 2]
    harvest.start(*names(5))
    monitor.join(0.1)
    assert monitor.is_alive() and len(harvest.pools.to_fetch) == 5
    monitor.resume(2)
    assert harvest.join()["finished"] == 5
    monitor.pause()
    assert monitor.is_paused


def test_a_limit_counts_what_ends_in_a_paused_slot(engine: EngineMaker) -> None:
    work = Gated()
    harvest = engine({Stage("fetch", 2, limit=2): work})
    harvest.start(*names(5))
    wait_until(lambda: len(work.begun) == 2, harvest.pools)
    harvest.monitors[0].pause(1)
    work.let_go(work.at("fetch-2"))
    wait_until(lambda: len(harvest.pools.finished) == 1, harvest.pools)
    work.let_go(work.at("fetch-1"))
    assert harvest.join()["finished"] == 2 and len(work.begun) == 2


def test_stop_lets_running_tasks_finish(engine: EngineMaker) -> None:
    release = Event()

    def work(task: Task) -> Done:
        release.wait(PATIENCE_S)
        return Done("finished")

    harvest = engine({Stage("fetch", 2): work})
    harvest.start(*names(10))
    wait_until(lambda: len(harvest.pools.on_fetch) == 2, harvest.pools)
    harvest.monitors[0].stop()
    release.set()
    counts = harvest.join()
    assert (counts["finished"], counts["to_fetch"], counts["on_fetch"]) == (2, 8, 0)


def test_what_does_not_finish_is_taken_back_and_its_late_result_ignored(
    engine: EngineMaker,
) -> None:
    release, late = Event(), Event()

    stored: list[object] = []

    def work(task: Task) -> Done:
        release.wait(PATIENCE_S)
        late.set()
        return Done("finished", [Found("fetch", ["/c/en/late"])], "late records")

    harvest = engine({Stage("fetch", 1): work}, store=stored.extend)
    harvest.start("/c/en/slow")
    wait_until(lambda: len(harvest.pools.on_fetch) == 1, harvest.pools)
    harvest.monitors[0].stop()
    assert harvest.monitors[0].take_back() == 1
    assert harvest.join()["to_fetch"] == 1
    release.set()
    assert late.wait(PATIENCE_S)
    harvest.committer.close(10)  # whatever it brought has been looked at
    assert harvest.pools.counts()["finished"] == 0
    assert "/c/en/late" not in harvest.pools.to_fetch
    assert not stored


def test_an_interrupted_task_goes_back_without_spending_an_attempt(engine: EngineMaker) -> None:
    attempts: list[int] = []

    def work(task: Task) -> Done:
        attempts.append(task.attempts)
        if len(attempts) == 1:
            raise Interrupted("stopping")
        return Done("finished")

    engine({Stage("fetch", 1): work}).run("/c/en/dog")
    assert attempts == [0, 0]


def test_a_limit_ends_the_stage_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    for limit, total in ((5, 5), (5, 5), (8, 8), (None, 20)):
        harvest = Engine(tmp_path / "pools.db", {Stage("fetch", 3, limit=limit): finish})
        counts = harvest.run(*names(20))
        assert counts["finished"] == total
        assert counts["to_fetch"] == 20 - total
        harvest.close()


def test_no_thread_to_be_had_makes_the_stage_wait(
    engine: EngineMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Thread.start
    refusals = iter([True, True, False])

    def scarce(thread: Thread) -> None:
        if thread.name.startswith("fetch") and next(refusals, False):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", scarce)
    assert engine({Stage("fetch", 2): finish}).run(*names(5))["finished"] == 5


def test_a_bug_in_the_monitor_itself_is_reported_not_waited_for(
    engine: EngineMaker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    harvest = engine({Stage("fetch", 2): finish})
    monkeypatch.setattr(harvest.monitors[0], "_free_places", lambda: 1 / 0)
    harvest.run("/c/en/dog")
    assert isinstance(harvest.ends[0], StopHarvest)


# --- a stage that is held ------------------------------------------------------------------------


class Gathering:
    """Gathers one piece in each attempt until there are two; those it has begun are known."""

    def __init__(self) -> None:
        self.begun_ones: set[str] = set()
        self.hurried: list[str] = []

    def begun(self) -> list[str]:
        return sorted(self.begun_ones)

    def __call__(self, task: Task) -> Done:
        if task.uri.endswith("empty"):
            raise ComeBack("the day's searches are used up", 3600.0)
        if not task.is_hurried and task.uri not in self.begun_ones:
            self.begun_ones.add(task.uri)
            raise ComeBack("the day's searches are used up", 3600.0)
        self.begun_ones.discard(task.uri)
        self.hurried += [task.uri] if task.is_hurried else []
        return Done("finished")


def test_a_stage_held_for_long_ends_what_it_has_begun_and_begins_nothing(
    engine: EngineMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor_module, "LONG_HOLD_S", 0.0)
    work, stage = Gathering(), Stage("extend", 3)
    harvest = engine({stage: work})
    begun = [f"/c/en/{number}" for number in range(20)]
    harvest.start(*begun, "/c/en/empty")
    (monitor,), pools = harvest.monitors, harvest.pools
    wait_until(lambda: len(work.begun_ones) == 20 and not len(pools.on_extend), pools)
    pools.discover(Found("extend", ["/c/en/late"]))
    wait_until(lambda: len(work.begun_ones) == 21 and not len(pools.on_extend), pools)
    monitor.hold("room", "there is none")
    pools.discover(Found("extend", ["/c/en/later"]))
    wait_until(lambda: len(pools.finished) == 21, pools)
    assert sorted(work.hurried) == sorted([*begun, "/c/en/late"])
    assert sorted(pools.to_extend) == ["/c/en/empty", "/c/en/later"]
    monitor.hold("room", None)
    wait_until(lambda: "/c/en/later" in work.begun_ones, pools)


def test_a_stage_held_for_a_moment_ends_nobody_early(engine: EngineMaker) -> None:
    work, stage = Gathering(), Stage("extend", 3)
    harvest = engine({stage: work})
    harvest.start("/c/en/dog")
    (monitor,) = harvest.monitors
    wait_until(lambda: bool(work.begun_ones) and not len(harvest.pools.on_extend), harvest.pools)
    monitor.hold("room", "there is none")
    assert not monitor._can_hand_out() and not monitor._lease()
    monitor.hold("room", None)
    assert not work.hurried


def test_after_something_fatal_nothing_is_handed_out(engine: EngineMaker) -> None:
    """Not even while whoever is told takes his time."""
    begun: list[str] = []

    def work(task: Task) -> Done:
        begun.append(task.uri)
        raise StopHarvest("nothing can be written")

    one = engine({Stage("fetch", 1): work})
    counts = one.run("/c/en/a", "/c/en/b", "/c/en/c")
    assert begun == ["/c/en/a"]
    assert counts["to_fetch"] == 3
    assert isinstance(one.ends[0], StopHarvest)
