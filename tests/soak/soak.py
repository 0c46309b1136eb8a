"""One soak: an undisturbed harvest, then disturbed ones of the same world, each compared with it.

A round is one harvest from its first seed to its last task, however often it is killed on the way.
When there is still time after a round the next one begins. When the time is up nothing more
happens, and the round that is under way must come to its end by itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.soak import world
from tests.soak.compare import Essence, Places, differences, essence, flaws
from tests.soak.disk import Disk
from tests.soak.faults import DISK_FAULTS, FAULTS, KILLS, TOO_LATE, WORKER_FAULTS, drawn
from tests.soak.harvest import KINDS, Harvest, run_undisturbed, settings
from tests.soak.hosts import Neighbourhood
from tests.soak.scene import Scene
from tests.soak.story import Story
from tests.support.command import walk

GAP_S = 3.0  # between two faults, on average
NO_MOUNT = (
    "the full disk is left out: this user may not mount a file system (tmpfs); run it as root"
)


@dataclass(frozen=True)
class Plan:
    """What is to happen: for so long, so many kills, or exactly these faults."""

    scale: float
    seed: int
    seconds: float = 0.0
    kills: int = 0
    faults: Sequence[str] = ()
    ground: str = "both"
    kinds: Sequence[str] = KINDS
    processes: int = 0  # of a disturbed harvest; the undisturbed one has threads only


class Soak:
    def __init__(self, plan: Plan, folder: Path, quiet: bool = False) -> None:
        self.plan = plan
        self.folder = folder
        self.story = Story(folder / "faults.jsonl", quiet)
        self.flaws: list[str] = []
        self.starts = 0
        self.ends: Counter[str] = Counter()  # of main.py, by exit code
        self.rounds = 0
        self._chance = Random(plan.seed)
        self._stack = ExitStack()
        self._given = deque(plan.faults)
        self._until = 0.0
        self._quiet_s = 0.0
        self._total = 1

    def run(self) -> list[str]:
        """What is wrong; nothing, if all went well."""
        with self._stack:
            lines = world.lines(self.plan.scale)
            self._near = self._stack.enter_context(Neighbourhood(lines))
            self._state_disk = self._stack.enter_context(Disk(self.folder / "state-disk"))
            self._media_disk = self._stack.enter_context(Disk(self.folder / "media-disk"))
            self._stack.push(self._keep_what_failed)
            if not self._state_disk.can_fill:
                self._do_without_full_disks()
            quiet = self._undisturbed(lines)
            self._until = time.monotonic() + self.plan.seconds
            while not self.flaws and (not self.rounds or not self._is_over()):
                self._round(quiet)
        return self.flaws

    def _keep_what_failed(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.flaws or kind is not None:
            self._state_disk.save(self.folder / "left-state")
            self._media_disk.save(self.folder / "left-media")

    def _do_without_full_disks(self) -> None:
        """Where changes are judged nothing may be left untested in silence."""
        self.story.say(NO_MOUNT)
        self._given = deque(name for name in self._given if name not in DISK_FAULTS)
        if os.environ.get("CI") == "true":
            self.flaws.append(NO_MOUNT)

    def _undisturbed(self, lines: Sequence[str]) -> Essence:
        places = Places(self.folder / "quiet" / "state", self.folder / "quiet" / "m")
        harvest = self._harvest("quiet", places, proxies=False, processes=0)
        self.story.say(f"an undisturbed harvest of {len(lines):,} assertions first")
        self._quiet_s = run_undisturbed(harvest, lambda: self.story.show(lambda: _at(harvest)))
        self.flaws += [] if self.flaws else flaws(places)
        if self.flaws:
            return Essence([], {}, {}, {})
        found = essence(places)
        concepts = {each for each in found.finished if each.startswith("/c/")}
        if concepts != walk(lines, world.SEED)[0]:
            self.flaws.append("the undisturbed harvest has not found every concept")
        self._total = len(found.finished)
        said = f"{self._total:,} finished with {len(found.files):,} files in {self._quiet_s:.0f} s"
        self.story.say(f"the undisturbed harvest: {said}")
        return found

    def _harvest(self, name: str, places: Places, proxies: bool, processes: int) -> Harvest:
        config, plan = self.folder / f"{name}.toml", self.plan
        config.write_text(settings(places, self._near, plan.kinds, plan.ground, processes))
        urls = ",".join(each.url for each in self._near.proxies) if proxies else ""
        harvest = Harvest(places, config, urls, self.flaws)
        harvest.processes = processes
        return harvest

    # --- one round -------------------------------------------------------------------------

    def _round(self, quiet: Essence) -> None:
        self.rounds += 1
        name = f"round-{self.rounds}"
        proxies = not self.plan.kills and self.rounds % 2 == 1
        places = Places(self._state_disk.folder / name, self._media_disk.folder / name)
        harvest = self._harvest(name, places, proxies, self.plan.processes)
        self._near.only_proxies = proxies
        disks = (self._state_disk, self._media_disk)
        scene = Scene(self._near, harvest, *disks, self._chance, lambda: self._show(harvest))
        try:
            self._play(scene)
        finally:
            harvest.close()
            scene.recover()
        self.starts += harvest.starts
        self.ends.update(harvest.ends)
        self._compare(quiet, places)
        if not self.flaws:
            self.story.say(f"round {self.rounds} is as the undisturbed one")
            shutil.rmtree(places.state)
            shutil.rmtree(places.media)

    def _play(self, scene: Scene) -> None:
        names = self._names(scene)
        scene.start()
        while not self.flaws:
            if self._is_over():
                self._let_end(scene)
            else:
                self._strike(scene, next(names))
            if not scene.harvest.is_running:
                if self._bury(scene) == 0 and scene.harvest.is_done():
                    return
                scene.start()

    def _names(self, scene: Scene) -> Iterator[str]:
        if self.plan.faults:
            return iter(self._given.popleft, None)
        return drawn(scene, {**KILLS, **WORKER_FAULTS} if self.plan.kills else FAULTS)

    def _is_over(self) -> bool:
        if self.plan.faults:
            return not self._given
        if self.plan.kills:
            return sum(self.story.faults.values()) >= self.plan.kills
        return time.monotonic() > self._until

    def _strike(self, scene: Scene, name: str) -> None:
        if not self.plan.kills and not self.plan.faults:
            scene.wait(min(self._chance.expovariate(1 / GAP_S), 4 * GAP_S))
        if not scene.harvest.is_running:
            return
        scene.detail = ""
        FAULTS[name].strike(scene)
        was_killed = name in WORKER_FAULTS or scene.harvest.process.poll() == -signal.SIGKILL
        if self.plan.kills and not (was_killed and scene.detail != TOO_LATE):
            self.story.say(f"{name}: it was too late")
            return
        self.story.happened(self.rounds, name, scene.detail)

    def _let_end(self, scene: Scene) -> None:
        """Everybody is well again: the harvest must recover by itself."""
        scene.recover()
        patience = 10 * self._quiet_s + 300
        scene.wait(patience)
        if scene.harvest.is_running:
            self.flaws.append(f"it has not ended {patience:.0f} s after the last fault")

    def _bury(self, scene: Scene) -> int:
        harvest = scene.harvest

        def is_allowed(code: int) -> bool:
            if code == 0:
                return harvest.is_asked_to_stop or harvest.is_done()
            expected = {
                -signal.SIGKILL: harvest.is_killed,
                130: harvest.is_asked_to_stop,
                -signal.SIGTERM: harvest.is_asked_to_stop,  # before it listened
                -signal.SIGINT: harvest.is_asked_to_stop,
                3: scene.is_in_trouble(),
                5: harvest.is_tampered_with,
            }
            return expected.get(code, False)

        code = harvest.bury(is_allowed)
        if self._near.direct:
            self.flaws.append(f"{self._near.direct} requests went past the proxies")
        if code == 3:
            self.story.say("the source could not be reached at the start")
        return code

    def _compare(self, quiet: Essence, places: Places) -> None:
        self.story.say(f"round {self.rounds} is over, it is compared")
        if not self.flaws:
            self.flaws += flaws(places)
            self.flaws += differences(quiet, essence(places))

    # --- how far it is ---------------------------------------------------------------------

    def _show(self, harvest: Harvest) -> None:
        self.story.show(lambda: self._how_far(harvest))

    def _how_far(self, harvest: Harvest) -> tuple[float, float, str]:
        done = harvest.pools().get("finished", 0)
        calm = self._quiet_s * (1 - done / self._total)
        struck = sum(self.story.faults.values())
        what = f"round {self.rounds}: {done:,} of {self._total:,} finished, {struck} faults"
        if self.plan.kills:
            share = struck / self.plan.kills
            return share, (self.plan.kills - struck) * 2 + calm, what
        left = max(0.0, self._until - time.monotonic())
        return 1 - left / (self.plan.seconds or 1.0), left + calm, what


def _at(harvest: Harvest) -> tuple[float, float, str]:
    """Of the undisturbed harvest, whose end nobody knows."""
    pools = harvest.pools()
    done, known = pools.get("finished", 0), sum(pools.values()) or 1
    took = time.monotonic() - harvest.began
    left = took * (known - done) / done if done else 0.0
    return done / known, left, f"{done:,} of {known:,} finished"
