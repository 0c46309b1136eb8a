"""Worker processes killed at random moments, and their harvest too, end like a run of threads."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.crash.harm import Harm, SlowMedia
from tests.soak.compare import essence
from tests.soak.world import lines
from tests.support.chance import any_seed
from tests.support.node import ParamikoNode
from tests.support.worlds.conceptnet import World

KILLS = 15
SCALE = 0.03


@pytest.mark.timeout(240)
@pytest.mark.parametrize("processes", [4])
def test_kills_of_workers_and_of_their_harvest_change_nothing(
    tmp_path: Path, processes: int
) -> None:
    """Sixty of them: python -m tests.crash."""
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    (tmp_path / "node").mkdir()
    node = ParamikoNode(tmp_path / "node")
    with World(lines(SCALE), latency=0.01) as world, SlowMedia() as media, node:
        harm = Harm(tmp_path, world, media, node, processes)
        quiet = harm.quietly()
        harm.through(KILLS, len(essence(quiet).finished), Random(seed))
        harm.assert_as(quiet)
    print(f"{harm.done} in {harm.runs} runs, {harm.hit} tasks were hit")
    assert harm.hit, "some were at work"
