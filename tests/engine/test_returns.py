"""What failed comes home as what is done does: first what is stored of it, then its move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.engine.test_marks import Lives, died_with, lives  # noqa: F401
from tests.engine.test_monitor import Engine, EngineMaker, engine, names  # noqa: F401
from tools.engine.description import Description
from tools.engine.harvest import Harvest
from tools.engine.job import Job
from tools.engine.marks import MOST
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage, Task
from tools.errors import GiveUp, RetryLater, StopHarvest, Unavailable
from tools.journal import timings
from tools.journal.reader import failed as failed_in
from tools.journal.reader import look

FETCH = Stage("fetch", 2)
Record = tuple[str, str]


def record_of(task: Task, reason: str) -> Record:
    return task.uri, reason


def gives_up(task: Task) -> Done:
    raise GiveUp("HTTP 404")


def test_what_failed_is_stored_before_it_moves(engine: EngineMaker) -> None:  # noqa: F811
    seen: list[tuple[object, int]] = []

    def store(records: Sequence[object]) -> None:
        seen.extend((record, len(harvest.pools.failed)) for record in records)

    harvest = engine({Stage("fetch", 1): gives_up}, store=store, failed=record_of)
    assert harvest.run("/c/en/dog")["failed"] == 1
    assert seen == [(("/c/en/dog", "HTTP 404"), 0)]


def test_the_last_attempt_is_a_failure_too(engine: EngineMaker) -> None:  # noqa: F811
    stored: list[object] = []

    def work(task: Task) -> Done:
        raise RetryLater("no answer")

    harvest = engine({FETCH: work}, attempts=2, store=stored.extend, failed=record_of)
    assert harvest.run("/c/en/dog")["failed"] == 1
    assert stored == [("/c/en/dog", "no answer (after 2 attempts)")]


def test_a_failure_that_cannot_be_stored_now_is_tried_again(
    engine: EngineMaker,  # noqa: F811
) -> None:
    stored: list[object] = []
    troubles = iter([Unavailable("the store is down"), RetryLater("it is locked")])

    def store(records: Sequence[object]) -> None:
        if trouble := next(troubles, None):
            raise trouble
        stored.extend(records)

    harvest = engine({FETCH: gives_up}, store=store, failed=record_of)
    assert harvest.run("/c/en/dog")["failed"] == 1
    assert stored == [("/c/en/dog", "HTTP 404")]
    assert failed_in(harvest.file)[0][2] == 2, "one attempt was spent by the store"


@pytest.mark.parametrize("trouble", [RetryLater, GiveUp, KeyError])
def test_a_failure_that_can_never_be_stored_fails_without(
    engine: EngineMaker,  # noqa: F811
    trouble: Callable[[str], Exception],
) -> None:
    def store(records: Sequence[object]) -> None:
        raise trouble("it is too long")

    harvest = engine({FETCH: gives_up}, store=store, failed=record_of)
    assert harvest.run(*names(3))["failed"] == 3
    ((_, reason, _), *_) = failed_in(harvest.file)
    assert reason.startswith("HTTP 404 (and that could not be stored: ")


def test_a_store_that_ends_everything_leaves_a_failure_where_it_waited(
    engine: EngineMaker,  # noqa: F811
) -> None:
    def store(records: Sequence[object]) -> None:
        raise StopHarvest("the disk is full")

    harvest = engine({FETCH: gives_up}, store=store, failed=record_of)
    assert harvest.run("/c/en/dog") == {**harvest.pools.counts(), "to_fetch": 1, "failed": 0}
    assert isinstance(harvest.ends[0], StopHarvest)


def test_a_failure_that_was_taken_back_is_not_stored(engine: EngineMaker) -> None:  # noqa: F811
    stored: list[object] = []
    tried: list[str] = []

    def work(task: Task) -> Done:
        tried.append(task.uri)
        if len(tried) > 1:
            return Done("finished")
        harvest.pools.retry_later(task, "its holder was silent", spent=False)
        raise GiveUp("HTTP 404")

    harvest = engine({Stage("fetch", 1): work}, store=stored.extend, failed=record_of)
    counts = harvest.run("/c/en/dog")
    assert (counts["finished"], counts["failed"], stored) == (1, 0, [])


def test_many_that_wait_are_given_up_at_once(engine: EngineMaker) -> None:  # noqa: F811
    """As all of a host: those that nobody knows, or that are done, are none of them."""
    batches: list[int] = []
    harvest = engine(
        {FETCH: lambda _: Done("finished")},
        store=lambda records: batches.append(len(records)),
        failed=record_of,
    )
    (monitor,) = harvest.monitors
    monitor.pause()
    harvest.start(*names(5000), "other")
    assert monitor.give_up([*names(5000), "nobody knows this"], "its host is silent") == 5000
    monitor.resume()
    counts = harvest.join()
    assert (counts["failed"], counts["finished"], sum(batches)) == (5000, 1, 5000)
    assert {reason for _, reason, _ in failed_in(harvest.file)} == {"its host is silent"}
    assert len(batches) < 2500, "they share transactions"
    assert monitor.give_up(["other"], "too late") == 0


class Kept(Job):
    """Does nothing, and stores what failed."""

    description = Description()
    stages = (FETCH, Stage("extend", 1))
    seeds = ()

    def __init__(self) -> None:
        self.stored: list[Any] = []
        self.workers = {"fetch": lambda _: Done("finished")}

    @property
    def store(self) -> Callable[[Sequence[Any]], None]:
        return self.stored.extend

    def failed(self, task: Task, reason: str) -> object:
        if task.uri == "bug":
            raise KeyError("a bug of the job")
        return task.uri, task.stage.name, task.attempts, reason[:16]


def test_what_killed_its_process_is_stored_at_the_next_start(
    lives: Lives,  # noqa: F811
) -> None:
    died_with(lives, "killer", MOST)
    file = lives.file
    lives.pools.close()
    for _ in range(2):  # the first may have been killed before it was stored
        job = Kept()
        with closing(Harvest(job, file, Event(), 3, 1.0)) as harvest:
            harvest._tell_of_killers()
            assert job.stored == [("killer", "fetch", 1, "the process died")]
            assert len(harvest.pools.failed) == 1
    lives.pools = Pools(file, Kept.stages)


def test_a_job_that_stumbles_over_a_failure_loses_nothing_but_the_record(tmp_path: Path) -> None:
    with closing(Harvest(Kept(), tmp_path / "pools.db", Event(), 3, 1.0)) as harvest:
        task = Task(1, "bug", FETCH, None, 0, 0)
        assert harvest._record_of_failure(task, "HTTP 404") is None


# --- how long ------------------------------------------------------------------------------


def test_tasks_and_seconds_are_counted_by_how_they_ended(engine: EngineMaker) -> None:  # noqa: F811
    never = Event()

    def work(task: Task) -> Done:
        never.wait(0.02)
        if task.uri == "never" or not task.attempts:
            raise RetryLater("later")
        return Done("finished")

    harvest = engine({FETCH: work}, attempts=2)
    harvest.run("never", "good")
    assert look(harvest.file).tally == {}, "they are no matter of the job"
    tally = harvest.pools.tally()
    assert [timings.tasks(tally, "fetch", each) for each in timings.OUTCOMES] == [1, 2, 1]
    assert 4 * 0.019 < timings.seconds(tally, "fetch") < 20


def test_what_nobody_has_begun_takes_no_time(tmp_path: Path) -> None:
    with closing(Pools(tmp_path / "pools.db", [FETCH])) as pools:
        pools.discover(Found("fetch", ["/c/en/dog"]))
        (task,) = pools.lease(FETCH)
        pools.retry_later(task, "recalled", spent=False)
        assert not any(map(timings.is_timing, pools.tally()))
