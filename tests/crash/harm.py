"""A harvest with worker processes, and all the harm that is done to them and to it while it ships.

Promise: whatever was killed, the end is that of an undisturbed harvest with threads only: the graph
here, media and books on the node, file by file; nobody stays behind and no half file does.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event

from tests.faults.injection import Process, main_py, run
from tests.soak.compare import Places, counted, differences, essence, flaws, state_flaws
from tests.soak.workers import has_begun, impatient, stayed_behind, workers_of
from tests.support.node import Node
from tests.support.shipped import assert_merged, media_in, receive
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.sample.world import SEED

LOOK_S = 0.005
LATEST = 0.8  # of the harvest: whoever is hit again and again at its end would fail, rightly
EARLY = 0.25  # of the harms come as soon as anybody is there
PATIENCE_S, END_S = 20.0, 600.0
EACH_TAKES_S = 0.006  # of all requests for media

HARMS = {  # by how often they are drawn
    "worker, SIGKILL": 4,
    "worker, SIGSEGV": 4,
    "worker, SIGSTOP": 2,
    "harvest, SIGKILL": 3,
}


class SlowMedia(MediaWorld):
    """One request after the other, so that a harvest lasts long enough for all that is to happen
    to it; at first there is no hurry to be slow."""

    def __init__(self) -> None:
        super().__init__(self._is_down)
        self.each_takes_s = 0.0

    def _is_down(self, _name: str, _paths: list[str]) -> bool:
        Event().wait(self.each_takes_s)
        return False


@dataclass
class Harm:
    """`done` are the harms by name, `hit` is how many tasks were at work in who was harmed."""

    folder: Path
    world: World
    media: SlowMedia
    node: Node
    processes: int
    done: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    hit: int = 0

    def places_of(self, name: str) -> Places:
        return Places(self.folder / name / "state", self.folder / name / "m")

    @property
    def places(self) -> Places:
        return self.places_of("disturbed")

    # --- how it is started -----------------------------------------------------------------

    def words(self, places: Places, processes: int) -> list[object]:
        config = self.media.settings(self.folder)
        config = config.rename(self.folder / f"{places.state.parent.name}.toml")
        shipping = self.node.settings(volume_mb=0.5, receipt_s=0) if processes else ""
        top = f"processes = {processes}\nstop_grace_s = 0.5\n"
        config.write_text(f"{top}{config.read_text()}\n{shipping}")
        return ["--config", config, "--state", places.state, "--media", places.media]

    def quietly(self) -> Places:
        """Threads only, and nothing is shipped."""
        places = self.places_of("quiet")
        words = self._harvest(self.words(places, 0))
        code, process = run(self.folder / "quietly", main_py(*words))
        assert code == 0, process.log
        assert flaws(places) == []
        return places

    def _harvest(self, where: list[object]) -> list[object]:
        return ["--source", self.world.url, "--seed", SEED, "--extend-workers", 8, *where]

    # --- what is done to it ----------------------------------------------------------------

    def through(self, kills: int, total: int, chance: Random) -> None:
        """To its end, with so many kills on the way to so many finished tasks."""
        self.media.each_takes_s = EACH_TAKES_S
        where = self.words(self.places, self.processes)
        command = impatient(*self._harvest(where))
        moments = sorted(chance.uniform(0, LATEST * total) for _ in range(kills))
        names = chance.choices(list(HARMS), list(HARMS.values()), k=kills)
        harms = iter(list(zip(moments, names, strict=True)))
        is_over = False
        while not is_over:
            self.runs += 1
            with Process(self.folder / f"said-{self.runs}", command) as process:
                self._torment(process, harms, chance)
                is_over = process.end(END_S) == 0
                assert is_over or process.end() == -signal.SIGKILL, process.log
            self._look_after(process)
            if not is_over:
                self._ship(where)

    def _torment(
        self, process: Process, harms: Iterator[tuple[float, str]], chance: Random
    ) -> None:
        for moment, name in harms:
            wanted = 0 if chance.random() < EARLY else moment
            self._await(process, lambda wanted=wanted: self.finished() >= wanted)  # type: ignore[misc]
            self._await(process, lambda: bool(workers_of(process.pid)))
            Event().wait(chance.uniform(0.0, 0.3))
            who, _, number = name.partition(", ")
            if self._strike(process, who, signal.Signals[number], chance):
                self.done[name] += 1
            if not process.is_running or who == "harvest":
                return

    def _await(self, process: Process, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while process.is_running and not holds() and time.monotonic() < deadline:
            Event().wait(LOOK_S)

    def _strike(self, process: Process, who: str, number: signal.Signals, chance: Random) -> bool:
        victims = workers_of(process.pid) if who == "worker" else [process.pid]
        if number == signal.SIGSTOP:
            victims = [pid for pid in victims if has_begun(pid)]
        if not victims or not process.is_running:
            return False
        with suppress(ProcessLookupError):
            os.kill(chance.choice(victims), number)
        return True

    def finished(self) -> int:
        return counted(self.places.pools)["finished"] if self.places.pools.exists() else 0

    # --- what it leaves --------------------------------------------------------------------

    def _look_after(self, process: Process) -> None:
        self.hit += process.log.count("marked uri=")
        assert stayed_behind(process.pid) == []
        assert "Traceback" not in process.log and "a bug in" not in process.log, process.log
        if self.places.pools.exists():
            assert list(state_flaws(self.places.pools)) == []

    def _ship(self, where: list[object]) -> None:
        """What is in the books goes to the node between two runs, and at their ends."""
        code, process = run(self.folder / "shipping", main_py("ship", *where))
        assert code == 0, process.log
        receive(self.node.folder)

    def assert_as(self, quiet: Places) -> int:
        """How many files have arrived."""
        receive(self.node.folder)
        wanted, arrived = essence(quiet), Places(self.places.state, self.node.folder / "m")
        assert differences(wanted, essence(arrived)) == []
        assert flaws(arrived) == []
        assert_merged(self.node.folder, dict(wanted.files))
        assert media_in(self.places.media) == {}
        assert [*self.places.media.rglob("*.part")] == []
        return len(wanted.files)
