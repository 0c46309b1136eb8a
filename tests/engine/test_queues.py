"""Between two stages wait only so many, and what a task leaves there is found by the next."""

from __future__ import annotations

from threading import Event

import pytest

from tests.engine.test_monitor import (  # noqa: F401
    EngineMaker,
    Gated,
    engine,
    finish,
    names,
    wait_until,
)
from tools.engine import luggage as luggage_module
from tools.engine.luggage import Luggage
from tools.engine.stage import Done, Found, Stage, Task
from tools.errors import ComeBack, RetryLater

DOWNLOAD, ANALYSE, CONTROL = (
    Stage("download", 4, queue=1),
    Stage("analyse", 2, queue=1, kind="computes"),
    Stage("control", 1),
)


def test_queues_of_one_and_a_page_of_a_hundred_links_come_to_an_end(
    engine: EngineMaker,  # noqa: F811
) -> None:
    waiting: list[int] = []

    def download(task: Task) -> Done:
        waiting.append(len(harvest.pools.to_analyse))
        return Done("to_analyse")

    def analyse(task: Task) -> Done:
        waiting.append(len(harvest.pools.to_control))
        return Done("to_control")

    def control(task: Task) -> Done:
        links = [f"{task.uri}/{n}" for n in range(100)] if task.depth < 1 else []
        return Done("finished", [Found("download", links)])

    harvest = engine({DOWNLOAD: download, ANALYSE: analyse, CONTROL: control})
    assert harvest.run("page")["finished"] == 101
    assert max(waiting) <= 1 + DOWNLOAD.workers
    assert harvest.ends == [None] * 3


def test_a_stage_waits_for_a_next_one_that_makes_a_pause(engine: EngineMaker) -> None:  # noqa: F811
    harvest = engine({DOWNLOAD: lambda _: Done("to_analyse"), ANALYSE: finish})
    download, analyse = harvest.monitors
    analyse.pause()
    harvest.start(*names(50))
    wait_until(lambda: len(harvest.pools.to_analyse) >= 1, harvest.pools)
    download.join(0.2)
    assert len(harvest.pools.to_analyse) <= 1 + DOWNLOAD.workers
    analyse.resume()
    assert harvest.join()["finished"] == 50


def test_what_is_on_the_disk_drains_first(engine: EngineMaker) -> None:  # noqa: F811
    order: list[str] = []

    def note(to: str) -> object:
        def work(task: Task) -> Done:
            order.append(to)
            return Done(to)

        return work

    harvest = engine({DOWNLOAD: note("to_analyse"), ANALYSE: note("finished")})
    harvest.pools.discover(Found("analyse", names(60)))
    assert harvest.run("last")["finished"] == 61
    assert order.index("to_analyse") >= 60 - ANALYSE.workers - 1


@pytest.mark.parametrize("why", ["delayed", "limited"])
def test_nobody_waits_for_a_stage_that_cannot_go_on(
    engine: EngineMaker,  # noqa: F811
    why: str,
) -> None:
    may_end = Event()

    def analyse(task: Task) -> Done:
        if why == "delayed" and not may_end.is_set():
            raise ComeBack("its host rests", 0.5)
        return Done("finished")

    limit = 1 if why == "limited" else None
    harvest = engine(
        {DOWNLOAD: lambda _: Done("to_analyse"), Stage("analyse", 1, limit=limit): analyse}
    )
    harvest.start(*names(20))
    wait_until(lambda: harvest.pools.done(DOWNLOAD) == 20, harvest.pools)
    may_end.set()
    assert harvest.join()["finished"] == (1 if why == "limited" else 20)


# --- luggage -------------------------------------------------------------------------------


def test_luggage_comes_to_the_next_task_of_the_uri_and_is_not_stored(
    engine: EngineMaker,  # noqa: F811
) -> None:
    found: dict[str, object] = {}

    def analyse(task: Task) -> Done:
        found[task.uri] = task.luggage
        return Done("finished")

    def download(task: Task) -> Done:
        assert task.luggage is None
        return Done("to_analyse", luggage=f"body of {task.uri}".encode())

    stages = {Stage("download", 4, queue=100): download, ANALYSE: analyse}
    harvest = engine(stages)
    harvest.pools.discover(Found("analyse", ["from the disk"]))
    assert harvest.run(*names(50))["finished"] == 51
    assert found.pop("from the disk") is None
    assert found == {uri: f"body of {uri}".encode() for uri in names(50)}


def test_luggage_of_what_could_not_be_stored_is_dropped(engine: EngineMaker) -> None:  # noqa: F811
    troubles = iter([RetryLater("it is locked")])
    found: list[object] = []
    tried: list[int] = []

    def store(_: object) -> None:
        for trouble in troubles:
            raise trouble

    def download(task: Task) -> Done:
        tried.append(task.attempts)
        return Done("to_analyse", records=1, luggage="first" if len(tried) == 1 else None)

    def analyse(task: Task) -> Done:
        found.append(task.luggage)
        return Done("finished")

    harvest = engine({Stage("download", 1, queue=9): download, ANALYSE: analyse}, store=store)
    assert harvest.run("page")["finished"] == 1
    assert (tried, found) == ([0, 1], [None])


def task_of(stage: Stage, uri: str) -> Task:
    return Task(1, uri, stage, None, 0, 0)


def left(luggage: Luggage, stage: Stage, count: int, size: int = 1) -> list[object]:
    for uri in names(count):
        luggage.leave(task_of(stage, uri), Done("to_analyse", luggage=bytes(size)))
    return [luggage.fetch(task_of(ANALYSE, uri)) for uri in names(count)]


def test_luggage_is_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (Stage("download", 2, queue=3), ANALYSE)
    most = 3 + 2 + ANALYSE.workers * ANALYSE.ahead  # in the queue, just brought, handed out
    kept = left(Luggage(stages), stages[0], most + 5)
    assert [each is not None for each in kept] == [False] * 5 + [True] * most
    monkeypatch.setattr(luggage_module, "MOST_BYTES", 2500)
    kept = left(Luggage(stages), stages[0], 4, size=1000)
    assert [each is not None for each in kept] == [False, False, True, True]
    luggage = Luggage(stages)
    assert left(luggage, stages[0], 1, size=9999) == [None], "one that is too large alone"
    assert left(luggage, stages[0], 1, size=1000) == [bytes(1000)], "and nothing is left of it"


def test_without_a_queue_or_a_next_stage_here_there_is_no_luggage() -> None:
    stages = (Stage("download", 2), ANALYSE)
    assert left(Luggage(stages), stages[0], 2) == [None, None]
    luggage = Luggage([DOWNLOAD])
    assert left(luggage, DOWNLOAD, 2) == [None, None]
    luggage.drop(task_of(DOWNLOAD, "x"), Done("finished", luggage=b"x"))


def test_who_computes_goes_on_while_what_it_did_is_stored(engine: EngineMaker) -> None:  # noqa: F811
    stored, all_done = Event(), Event()
    done: list[str] = []

    def analyse(task: Task) -> Done:
        done.append(task.uri)
        if len(done) == ANALYSE.ahead:
            all_done.set()
        return Done("finished", records=1)

    def store(_: object) -> None:
        assert stored.wait(30)

    stage = Stage("analyse", 1, kind="computes")
    harvest = engine({stage: analyse}, store=store)
    harvest.start(*names(20))
    assert all_done.wait(30), "though nothing of it is stored"
    assert len(done) == stage.ahead, "and no more than that"
    stored.set()
    wait_until(lambda: len(harvest.pools.finished) == 20, harvest.pools)
