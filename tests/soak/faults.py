"""What happens to a harvest: each fault by its name, with how often it is drawn."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from tests.soak.disk import Disk
from tests.soak.hosts import Host, Mood
from tests.soak.scene import Scene

CLOSE_LOOK_S = 0.001
NEAR_THE_END, MOST_PAGES = 150, 90  # tasks left, and waiting
PATIENCE_S = 20.0
TOO_LATE = "it was too late"


# --- ends of the process


def kill_while_starting(scene: Scene) -> None:
    """If it has started long ago, it is killed and started first."""
    if time.monotonic() - scene.harvest.began > 0.3:
        end_by_kill(scene)
        if scene.harvest.process.returncode != -signal.SIGKILL:
            return  # it was faster
        scene.harvest.bury(lambda code: True)
        scene.start()
    seconds = scene.chance.uniform(0.0, 0.9)
    scene.detail = f"after {seconds:.2f} s"
    scene.wait(seconds)
    end_by_kill(scene)


def kill_during_fetch(scene: Scene) -> None:
    source = scene.near.source
    waiting = scene.harvest.pools().get("to_fetch", MOST_PAGES)
    count = scene.chance.randint(1, max(1, min(waiting, MOST_PAGES)))
    scene.detail = f"after {count} pages"
    wanted = source.requests + count
    scene.wait(PATIENCE_S, lambda: source.requests >= wanted)
    end_by_kill(scene)


def kill_during_extend(scene: Scene) -> None:
    count = scene.chance.randrange(1, 250)
    scene.detail = f"after {count} requests for media"
    wanted = scene.near.media_requests + count
    scene.wait(PATIENCE_S, lambda: scene.near.media_requests >= wanted)
    end_by_kill(scene)


def kill_during_snapshot(scene: Scene) -> None:
    """A stop ends with a snapshot; it is watched for."""
    if scene.wait(PATIENCE_S, scene.is_up):
        scene.harvest.ask(signal.SIGTERM)
        _kill_at_snapshot(scene)


def kill_at_the_end(scene: Scene) -> None:
    left = scene.chance.randrange(0, 8)
    scene.wait(PATIENCE_S, lambda: scene.harvest.left() in range(left + 1), 0.01)
    if scene.chance.random() < 0.5:
        scene.detail = f"with {left} tasks left"
        end_by_kill(scene)
    else:
        _kill_at_snapshot(scene)


def _kill_at_snapshot(scene: Scene) -> None:
    folder = scene.harvest.places.state / "snapshots"
    before = set(folder.glob("*.db"))
    pattern = scene.chance.choice(["*.part", "*.db"])

    def is_written() -> bool:
        return bool(set(folder.glob(pattern)) - before)

    is_seen = scene.wait(PATIENCE_S, is_written, CLOSE_LOOK_S)
    scene.detail = f"{pattern} seen" if is_seen else "not in time"
    end_by_kill(scene)


def end_by_kill(scene: Scene) -> None:
    scene.harvest.kill()


def stop_by_sigterm(scene: Scene) -> None:
    if scene.wait(PATIENCE_S, scene.is_up):
        scene.harvest.ask(signal.SIGTERM)
        _await_end(scene, "SIGTERM")


def sigint_twice(scene: Scene) -> None:
    if scene.wait(PATIENCE_S, scene.is_up):
        scene.harvest.ask(signal.SIGINT)
        scene.wait(scene.chance.uniform(0.0, 0.5))
        scene.harvest.ask(signal.SIGINT)
        _await_end(scene, "two SIGINT")


def _await_end(scene: Scene, asked: str) -> None:
    scene.wait(PATIENCE_S)
    if scene.harvest.is_running:
        scene.harvest.flaws.append(f"it runs {PATIENCE_S:.0f} s after {asked}")
        end_by_kill(scene)


# --- ends of workers


def hurt_a_worker(number: signal.Signals) -> Callable[[Scene], None]:
    """One that was stopped is missed only after a while: then the harvest ends it."""

    def strike(scene: Scene) -> None:
        wanted = scene.near.media_requests + scene.chance.randrange(1, 60)
        scene.wait(PATIENCE_S, lambda: scene.near.media_requests >= wanted)
        if not (workers := scene.harvest.workers()):
            scene.detail = TOO_LATE
            return
        scene.detail = f"one of {len(workers)}"
        with suppress(ProcessLookupError):
            os.kill(scene.chance.choice(workers), number)

    return strike


# --- bad health of others


def _mood(pick: Callable[[Scene], Host], mood: Mood, longest: float) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        host, seconds = pick(scene), scene.chance.uniform(0.5, longest)
        scene.detail = f"{host.name} for {seconds:.1f} s"
        scene.trouble(seconds)
        host.fall_into(mood, seconds)

    return strike


def _source(scene: Scene) -> Host:
    return scene.near.source


def _provider(scene: Scene) -> Host:
    return scene.chance.choice(scene.near.providers)


def refuse(pick: Callable[[Scene], Host], longest: float) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        host, seconds = pick(scene), scene.chance.uniform(0.5, longest)
        scene.detail = f"{host.name} for {seconds:.1f} s"
        scene.trouble(seconds)
        host.refuse()
        scene.later(seconds, host.accept)

    return strike


def some_proxies_die(scene: Scene) -> None:
    dying = scene.chance.sample(scene.near.proxies, scene.chance.randrange(1, 3))
    _let_die(scene, len(dying), scene.chance.uniform(1.0, 8.0))


def all_proxies_die(scene: Scene) -> None:
    """It waits, and nobody is asked directly."""
    _let_die(scene, len(scene.near.proxies), scene.chance.uniform(1.0, 6.0))


def _let_die(scene: Scene, count: int, seconds: float) -> None:
    scene.detail = f"{count} for {seconds:.1f} s"
    scene.trouble(seconds)
    for proxy in scene.chance.sample(scene.near.proxies, count):
        proxy.mode = "dead"
        scene.later(seconds, lambda proxy=proxy: setattr(proxy, "mode", "works"))  # type: ignore[misc]


# --- no room


def full_media_disk(scene: Scene) -> None:
    _fill(scene, scene.media_disk)


def full_state_disk(scene: Scene) -> None:
    _fill(scene, scene.state_disk)


def _fill(scene: Scene, disk: Disk) -> None:
    """It ends, or holds its media; sometimes it is killed meanwhile. Then there is room again."""
    left = scene.chance.choice([0, 0, 100_000, 500_000])
    is_killed = scene.chance.random() < 0.25
    seconds = scene.chance.uniform(1.0, 5.0)
    scene.harvest.is_tampered_with = True
    disk.fill(left)
    scene.wait(seconds)
    state = "went on" if scene.harvest.is_running else "ended"
    if is_killed and scene.harvest.is_running:
        state = "was killed"
        end_by_kill(scene)
    disk.free()
    scene.detail = f"{left:,} bytes left; it {state}"


def files_may_not_grow(scene: Scene) -> None:
    size = scene.chance.randrange(0, 200_000)
    if not scene.harvest.is_running:
        return
    scene.harvest.limit_files(size)
    scene.wait(scene.chance.uniform(1.0, 5.0))
    scene.detail = f"{size:,} bytes"
    end_by_kill(scene)


# --- all of them


def _always(scene: Scene) -> bool:
    return True


def _is_fetching(scene: Scene) -> bool:
    pools = scene.harvest.pools()
    return not pools or pools.get("to_fetch", 0) > 0


def _is_extending(scene: Scene) -> bool:
    return scene.harvest.pools().get("to_extend", 0) > 0


def _is_near_the_end(scene: Scene) -> bool:
    left = scene.harvest.left()
    return left is not None and left < NEAR_THE_END and not _is_fetching(scene)


def _has_proxies(scene: Scene) -> bool:
    return scene.near.only_proxies


def _has_workers(scene: Scene) -> bool:
    return bool(scene.harvest.processes) and _is_extending(scene)


def _can_fill(scene: Scene) -> bool:
    return scene.media_disk.can_fill and scene.state_disk.can_fill


class Fault(NamedTuple):
    weight: float
    strike: Callable[[Scene], None]
    is_possible: Callable[[Scene], bool] = _always


KILLS = {
    "kill -9 while starting": Fault(2, kill_while_starting),
    "kill -9 during fetch": Fault(4, kill_during_fetch, _is_fetching),
    "kill -9 during extend": Fault(4, kill_during_extend, _is_extending),
    "kill -9 during a snapshot": Fault(2, kill_during_snapshot),
    "kill -9 at the end": Fault(12, kill_at_the_end, _is_near_the_end),
}
WORKER_FAULTS = {
    "a worker is killed": Fault(4, hurt_a_worker(signal.SIGKILL), _has_workers),
    "a worker crashes": Fault(4, hurt_a_worker(signal.SIGSEGV), _has_workers),
    "a worker stands still": Fault(1, hurt_a_worker(signal.SIGSTOP), _has_workers),
}
DISK_FAULTS = {
    "media disk full": Fault(1.5, full_media_disk, _can_fill),
    "state disk full": Fault(1.5, full_state_disk, _can_fill),
}
FAULTS = {
    **KILLS,
    **WORKER_FAULTS,
    **DISK_FAULTS,
    "SIGTERM": Fault(2, stop_by_sigterm),
    "SIGINT twice": Fault(2, sigint_twice),
    "source answers 503": Fault(2, _mood(_source, "503", 6.0)),
    "source is slow": Fault(1, _mood(_source, "slow", 8.0)),
    "source cuts connections": Fault(1, _mood(_source, "cut", 4.0)),
    "source dribbles": Fault(1, _mood(_source, "dribble", 6.0)),
    "source port closed": Fault(1, refuse(_source, 5.0)),
    "provider answers 503": Fault(2, _mood(_provider, "503", 8.0)),
    "provider is slow": Fault(1, _mood(_provider, "slow", 8.0)),
    "provider cuts connections": Fault(1, _mood(_provider, "cut", 4.0)),
    "provider dribbles": Fault(1, _mood(_provider, "dribble", 6.0)),
    "provider port closed": Fault(1, refuse(_provider, 5.0)),
    "some proxies die": Fault(2, some_proxies_die, _has_proxies),
    "all proxies die": Fault(1, all_proxies_die, _has_proxies),
    "files may not grow": Fault(1, files_may_not_grow),
}


def drawn(scene: Scene, among: dict[str, Fault]) -> Iterator[str]:
    """Names without end, of what can happen at that moment."""
    while True:
        possible = [name for name, fault in among.items() if fault.is_possible(scene)]
        weights = [among[name].weight for name in possible]
        yield scene.chance.choices(possible, weights)[0]
