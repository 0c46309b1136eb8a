"""A short storm; `python -m tests.cluster.storm` is a long one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from tests.cluster.storm import NAMES, PLACES, Storm, Weather
from tests.soak.world import lines
from tests.support.chance import any_seed
from tests.support.nats_server import NEWEST, running_nats
from tests.support.node import SshdNode
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld


@pytest.mark.timeout(280)
def test_through_kills_and_a_cut_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Relations, pools, and on the receiving node every file; nothing is asked more often than was
    in the hands of who died."""
    weather = Weather(node_kills=5, coordinator_kills=1, server_kills=1, cuts=[8.0])
    weather.pause_s = 0.1, 0.5
    with ExitStack() as stack:
        world = stack.enter_context(World(lines(0.03), latency=0.2))
        media = stack.enter_context(MediaWorld())
        server = stack.enter_context(running_nats(tmp_path / "server", NEWEST, NAMES))
        (tmp_path / "receiver").mkdir()
        receiver = stack.enter_context(SshdNode(tmp_path / "receiver"))
        storm = Storm(tmp_path, server, world, media, Random(any_seed()), receiver)
        stack.enter_context(storm.cluster)
        storm.lay_wires(stack)
        quiet = storm.quietly()
        world.paths.clear()
        storm.through(weather, 240)
        assert storm.judged(quiet) == []
        hit = sum(storm.happened.values())
        assert hit >= 3 and storm.repeats() <= hit * PLACES * len(NAMES)
