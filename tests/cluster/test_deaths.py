"""Processes that die, say nothing or cannot be started; and who is left when their harvest dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

from tests.cluster.test_executor import NoCargo, away
from tests.cluster.workers import workers
from tests.engine.executor_contract import PLACES, STAGE, Arrival, Scene, until
from tests.support.chance import any_seed
from tools.base.resident import descendants
from tools.cluster import crew
from tools.cluster.executor import Away, ProcessExecutor
from tools.engine.description import Description
from tools.engine.executor import processes_of
from tools.engine.harvest import Harvest
from tools.engine.job import Job
from tools.engine.marks import MOST
from tools.engine.stage import Done, Found, Stage
from tools.errors import Died, Unavailable


def died(arrivals: list[Arrival]) -> list[Arrival]:
    return [each for each in arrivals if isinstance(each.result, Died)]


@pytest.mark.parametrize("kind", ["crash", "kill", "exit"])
def test_who_dies_is_replaced_and_only_what_it_worked_on_comes_back_as_died(
    scene: Scene, kind: str
) -> None:
    (poison,) = scene.give(1, kind)
    (arrival,) = scene.wait_for(1)
    assert isinstance(arrival.result, Died) and arrival.token == poison.token
    scene.give(4 * PLACES)
    arrivals = scene.wait_for(1 + 4 * PLACES)
    assert len(died(arrivals)) == 1
    (dead,) = [each for each in processes_of(scene.executor) if each.deaths]
    assert dead.deaths == 1 and dead.died_at and dead.why in str(arrival.result)
    assert sum(each.per_minute for each in processes_of(scene.executor)) >= 4 * PLACES


def test_those_in_other_processes_go_on(scene: Scene) -> None:
    scene.give(PLACES, "waiting")  # two in the one, one in the other
    until(lambda: scene.at_work() == PLACES, "all are at work")
    os.kill(next(workers()), signal.SIGKILL)
    until(lambda: bool(scene.arrivals), "somebody is gone")
    scene.open_gate()
    lost = died(scene.wait_for(PLACES))
    assert len(lost) in (1, 2)
    assert len({each.holder for each in scene.arrivals}) == PLACES


def test_who_says_nothing_is_ended(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "SILENT_LOOKS", 10)
    scene.give(1, "silent")
    (arrival,) = scene.wait_for(1)
    assert isinstance(arrival.result, Died) and "silent" in str(arrival.result)
    scene.give(PLACES)
    scene.wait_for(1 + PLACES)


def test_who_has_more_memory_than_it_may_is_ended(tmp_path: Path) -> None:
    scene = Scene(ProcessExecutor([STAGE], {}, away(memory=200_000_000), Event()), tmp_path)
    try:
        scene.give(1, "hungry")
        (arrival,) = scene.wait_for(1)
        assert isinstance(arrival.result, Died)
        assert "of memory, and may have 200 MB" in str(arrival.result)
        scene.give(PLACES)
        assert len(died(scene.wait_for(1 + PLACES))) == 1
        assert all(0 < each.memory < 2e8 for each in processes_of(scene.executor) if each.since)
    finally:
        scene.executor.close(10.0)


def test_if_none_can_be_started_tasks_come_back_unspent(tmp_path: Path) -> None:
    wrong = Away({STAGE.name: NoCargo()}, 2, (sys.executable, "-c", "raise SystemExit(7)"))
    scene = Scene(ProcessExecutor([STAGE], {}, wrong, Event()), tmp_path)
    scene.give(2)
    for each in scene.wait_for(2):
        assert isinstance(each.result, Unavailable) and "exit code 7" in str(each.result)
    scene.executor.close(0.0)


@pytest.mark.timeout(120)
def test_kills_at_random_lose_nothing_and_double_nothing(scene: Scene) -> None:
    """Whatever came back as Died is given again, as a monitor would."""
    chance = Random(any_seed())
    wanted, kills = {task.token: task for task in scene.give(300, "slow")}, 0
    given_again = 0
    deadline = time.monotonic() + 60
    while len(scene.arrivals) - given_again < len(wanted):
        assert time.monotonic() < deadline
        time.sleep(chance.uniform(0.0, 0.3))
        if kills < 10 and (pids := list(workers())):
            os.kill(chance.choice(pids), signal.SIGKILL)
            kills += 1
        lost = [each for each in scene.arrivals if not isinstance(each.result, Done)]
        again, given_again = lost[given_again:], len(lost)
        scene.executor.give([wanted[each.token] for each in again])
    done = Counter(each.token for each in scene.arrivals if isinstance(each.result, Done))
    assert done == Counter(wanted.keys()) and kills
    assert len(died(scene.arrivals)) <= kills * 2  # as many places as one has


COORDINATOR = """
import sys, time
from pathlib import Path
from threading import Event
from tests.cluster.test_executor import away
from tests.engine.executor_contract import STAGE, Scene
from tools.cluster.executor import ProcessExecutor
scene = Scene(ProcessExecutor([STAGE], {}, away(), Event()), Path(sys.argv[1]))
scene.give(3, "waiting")
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nobody_outlives_the_harvest(tmp_path: Path, number: signal.Signals) -> None:
    """However it ends: here without any goodbye."""
    with subprocess.Popen([sys.executable, "-c", COORDINATOR, str(tmp_path)]) as process:
        until(lambda: len(list(tmp_path.glob("at-work-*"))) == 3, "they are at work")
        pids = list(descendants(process.pid))
        assert len(pids) == 2
        process.send_signal(number)
        process.wait(10)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "all are gone")


class Words(Job):
    """A job of one stage that is away."""

    description = Description()
    stages = (Stage("fetch", PLACES),)

    def __init__(self, uris: list[str]) -> None:
        self.seeds = (Found("fetch", uris),)
        self.workers = {"fetch": lambda task: Done("finished")}

    def store(self, records: object) -> None:
        """Nothing is stored."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["crash", "hungry", "silent"])
def test_what_kills_its_process_comes_last_then_alone_then_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(crew, "SILENT_LOOKS", 10)
    uris = [f"word|{tmp_path}|{number}" for number in range(30)]
    poison = f"{kind}|{tmp_path}|poison"
    job = Words([*uris[:10], poison, *uris[10:]])
    stop = Event()
    executor = ProcessExecutor(job.stages, {}, away(memory=200_000_000), stop)
    harvest = Harvest(job, tmp_path / "pools.db", stop, 3, 1.0, executor)
    watch = Thread(target=harvest.run)
    harvest._listen_for_stops = harvest.listen_for_pauses = lambda: None  # type: ignore[method-assign]
    watch.start()
    watch.join(100)
    assert not watch.is_alive()
    counts = harvest.pools.counts()
    failed = list(harvest.pools.uris("failed"))
    harvest.close()
    assert failed == [poison] and counts["finished"] == len(uris)
    assert len((tmp_path / "died-poison").read_text()) == MOST


def test_a_harvest_has_nobody_left_when_it_is_closed(scene: Scene) -> None:
    scene.give(PLACES, "waiting")
    until(lambda: scene.at_work() == PLACES, "they are at work")
    pids = list(workers())
    scene.executor.close(0.0)
    assert pids and not any(Path(f"/proc/{pid}").exists() for pid in pids)
