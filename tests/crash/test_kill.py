"""`kill -9` at random moments, each followed by a restart, ends like an undisturbed run."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.command import finished, harvest_flags, history, records, run, start, walk
from tests.worlds.conceptnet import World
from tools.look import look
from tools.sample import world as sample

KILLS = 30


def kill_somewhere(flags: list[object], world: World, chance: Random) -> None:
    """Start it; kill it while it starts, or after some more requests, amid any step."""
    harvest = start("main.py", *flags)
    if chance.random() < 0.2:
        with suppress(subprocess.TimeoutExpired):
            harvest.wait(chance.uniform(0.0, 0.5))
    else:
        world.wait_for(len(world.paths) + chance.randrange(1, 90))
    harvest.kill()
    harvest.communicate(timeout=20)
    assert harvest.returncode == -9, "it ended by itself: the kills must come sooner"


def test_thirty_kills_change_nothing(tmp_path: Path) -> None:
    seed = Random().randrange(1_000_000)
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    lines = list(sample.lines())
    with World(lines, latency=0.002) as world:
        quiet, disturbed = tmp_path / "quiet", tmp_path / "disturbed"
        assert run("main.py", *harvest_flags(quiet, world.url, sample.SEED)).returncode == 0

        flags = harvest_flags(disturbed, world.url, sample.SEED)
        for _ in range(KILLS):
            kill_somewhere(flags, world, chance)
            assert_one_pool_each(disturbed)
        done = run("main.py", *flags)
        assert done.returncode == 0, done.stderr
    assert records(disturbed / "graph.db") == records(quiet / "graph.db")
    assert finished(disturbed / "state") == finished(quiet / "state")
    assert set(finished(disturbed / "state")) == walk(lines, sample.SEED)[0]
    pools = history(disturbed)["pools"]
    assert sum(pools.values()) == pools["finished"]


def assert_one_pool_each(folder: Path) -> None:
    """What the dead process left: no pool short, no relation without its ends."""
    if not (folder / "state" / "pools.db").exists():
        return
    pools = look(folder / "state" / "pools.db").pools
    assert all(count >= 0 for count in pools.values())
    if (folder / "graph.db").exists() and pools["finished"]:
        graph = records(folder / "graph.db")
        entities = {row[0] for row in graph["entity"]}
        assert all(row[2] in entities and row[3] in entities for row in graph["relation"])
        assert set(finished(folder / "state")) <= entities
