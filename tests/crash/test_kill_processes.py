"""Worker processes killed at random moments, and their harvest too, end like a run of threads."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.crash.test_kill import Scene, assert_nothing_lost, scene
from tests.faults.injection import Process
from tests.soak.compare import Places, differences, essence, flaws
from tests.support.chance import any_seed
from tools.base.resident import descendants

__all__ = ["scene"]
KILLS = 20
OF_THE_HARVEST = 3


def command(scene: Scene, places: Places, processes: int) -> list[str]:
    words = scene.command(places)
    config = Path(words[words.index("--config") + 1])
    config.write_text(f"processes = {processes}\n{config.read_text()}")
    return words


@pytest.mark.timeout(300)
@pytest.mark.parametrize("processes", [2, 4])
def test_kills_of_workers_and_of_their_harvest_change_nothing(scene: Scene, processes: int) -> None:
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance, quiet = Random(seed), scene.places_of("quiet")
    with Process(scene.folder / "quietly", command(scene, quiet, 0)) as process:
        assert process.end() == 0, process.log
    kills, runs, hit, known = 0, 0, 0, (0, 0)
    is_over = False
    while not is_over:
        runs += 1
        words = command(scene, scene.places, processes)
        with Process(scene.folder / f"said-{runs}", words) as process:
            while process.is_running:
                _await_work(scene, process, chance)
                kills += kills < KILLS and _kill_one(process, chance)
                if runs <= OF_THE_HARVEST and kills > KILLS * runs / (OF_THE_HARVEST + 1):
                    left = list(descendants(process.pid))
                    process.kill()
                    _assert_gone(left)
            is_over = process.end() == 0
            assert is_over or runs <= OF_THE_HARVEST, process.log
        hit += process.log.count("marked uri=")
        known = assert_nothing_lost(scene.places, known)
    assert hit, "some were at work"
    assert flaws(scene.places) == []
    assert differences(essence(quiet), essence(scene.places)) == []
    print(f"{kills} kills of workers, {runs - 1} of the harvest, {hit} tasks were hit")


def _await_work(scene: Scene, process: Process, chance: Random) -> None:
    """Some requests more, so that not only those are killed that have just been started."""
    wanted = scene.requests + chance.randrange(1, 12)
    while process.is_running and scene.requests < wanted:
        Event().wait(0.002)


def _kill_one(process: Process, chance: Random) -> bool:
    workers = list(descendants(process.pid))
    if workers:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(workers), signal.SIGKILL)
    return bool(workers)


def _assert_gone(pids: list[int]) -> None:
    for _ in range(1000):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return
        Event().wait(0.01)
    raise AssertionError("somebody stayed behind")
