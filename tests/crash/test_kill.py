"""`kill -9` at random moments, each followed by a restart, ends like an undisturbed run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.faults.injection import Process, main_py, run, wait_until
from tests.soak.compare import Places, differences, essence, flaws, state_flaws
from tests.soak.world import SEED, lines
from tests.support.chance import any_seed
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.journal.reader import look

SCALE = 0.015  # of the sample: some thirty concepts and forty relations
WORKERS = 4


class Scene:
    """Servers, and where a disturbed harvest keeps everything."""

    def __init__(self, folder: Path, world: World, media: MediaWorld) -> None:
        self.folder = folder
        self.world = world
        self._media = media
        self.places = self.places_of("disturbed")

    def places_of(self, name: str) -> Places:
        return Places(self.folder / name / "state", self.folder / name / "m")

    def command(self, places: Places) -> list[str]:
        config = self._media.settings(self.folder)
        config.write_text(f"stop_grace_s = 0.1\n{config.read_text()}")
        return main_py(
            *("--source", self.world.url, "--seed", SEED, "--config", config),
            *("--fetch-workers", WORKERS, "--extend-workers", WORKERS),
            *("--state", places.state, "--media", places.media),
        )

    def run(self, places: Places) -> None:
        code, process = run(self.folder / "said", self.command(places))
        assert code == 0, process.log

    def wait_for_requests(self, count: int) -> None:
        wanted = self.requests + count
        wait_until(lambda: self.requests >= wanted, f"{count} more requests", every_s=0.001)

    @property
    def requests(self) -> int:
        return len(self.world.paths) + len(self._media.paths)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        world = stack.enter_context(World(lines(SCALE), latency=0.01))
        yield Scene(tmp_path, world, stack.enter_context(MediaWorld()))


Moment = Callable[[Scene, Process, Random], None]
"""Waits for when a process is to be killed."""


def while_it_starts(_scene: Scene, _process: Process, chance: Random) -> None:
    Event().wait(chance.uniform(0.0, 0.8))


def amid_its_work(scene: Scene, _process: Process, chance: Random) -> None:
    """Fetching or extending, or both."""
    scene.wait_for_requests(chance.randrange(2, 30))


def amid_the_last_snapshot(scene: Scene, process: Process, chance: Random) -> None:
    """It was asked to stop. It may also be gone before we look."""
    scene.wait_for_requests(chance.randrange(2, 10))
    process.signal(signal.SIGTERM)
    there = scene.places.state / "snapshots"
    before = len(list(there.glob("*")))
    wait_until(
        lambda: len(list(there.glob("*"))) > before or not process.is_running, every_s=0.0002
    )


MOMENTS: list[Moment] = [while_it_starts] * 2 + [amid_its_work] * 8 + [amid_the_last_snapshot] * 3


def test_kills_change_nothing(scene: Scene) -> None:
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    scene.run(quiet := scene.places_of("quiet"))
    pages = asked_for(scene)
    known = 0, 0
    for number, moment in enumerate(chance.sample(MOMENTS, len(MOMENTS))):
        said = scene.folder / f"said-{number}"
        with Process(said, scene.command(scene.places)) as process:
            moment(scene, process, chance)
            code = process.kill()
        assert code == -9 or moment is amid_the_last_snapshot, (code, process.log)
        known = assert_nothing_lost(scene.places, known)
    scene.run(scene.places)
    assert flaws(scene.places) == []
    assert differences(essence(quiet), essence(scene.places)) == []
    assert asked_for(scene) <= 2 * pages + WORKERS * len(MOMENTS)


def asked_for(scene: Scene) -> int:
    return sum(path.startswith("/c/") for path in scene.world.paths)


def assert_nothing_lost(places: Places, before: tuple[int, int]) -> tuple[int, int]:
    """One pool each; neither what is known nor what is finished becomes less."""
    if not places.pools.exists():
        return before
    assert list(state_flaws(places.pools)) == []
    pools = look(places.pools).pools
    known = sum(pools.values()), pools.get("finished", 0)
    assert known[0] >= before[0] and known[1] >= before[1]
    return known
