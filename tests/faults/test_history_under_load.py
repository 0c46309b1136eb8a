"""Looking at a harvest while it runs: never an error, never a mixture of two moments."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.injection import Process, main_py, wait_until
from tests.support.command import ROOT, clean_environment, harvest_flags
from tests.support.worlds.conceptnet import World, mesh
from tools.journal.reader import look

SEED, LINES = "/c/en/0", mesh(3000)
LOOKS, PROCESSES = 1000, 3


@pytest.fixture
def harvest(tmp_path: Path) -> Iterator[Process]:
    with World(LINES, latency=0.1) as world:  # it must not end before the last look
        words = main_py(*harvest_flags(tmp_path, world.url, SEED, "--fetch-workers", 16))
        with Process(tmp_path / "said", words) as process:
            wait_until((tmp_path / "state" / "pools.db").exists, "the state")
            yield process


def test_a_thousand_looks_see_one_moment_each(tmp_path: Path, harvest: Process) -> None:
    file = tmp_path / "state" / "pools.db"
    wait_until(lambda: look(file).pools.get("finished", 0) > 0, "a beginning")
    with ExitStack() as stack:
        visitors = [stack.enter_context(visitor(tmp_path)) for _ in range(PROCESSES)]
        look_often(file)
        assert harvest.is_running, "it was looked at after its end only"
        for each in visitors:
            said, errors = each.communicate(timeout=60)
            assert (each.returncode, errors) == (0, "")
            pools = json.loads(said)["pools"]
            assert sum(pools.values()) > 0 and min(pools.values()) >= 0
    assert "Traceback" not in harvest.log and "locked" not in harvest.log


def look_often(file: Path) -> None:
    known = ended = 0
    for _ in range(LOOKS):
        seen = look(file)
        assert all(count >= 0 for count in seen.pools.values()), seen.pools
        assert sum(seen.pools.values()) >= known, "URIs were lost"
        assert seen.pools["on_fetch"] <= 2 * 16, "at work, and the next one for each worker"
        now = seen.pools["finished"] + seen.pools["failed"]
        assert now == seen.done["fetch"] >= ended, "two numbers that are written together differ"
        known, ended = sum(seen.pools.values()), now


def visitor(folder: Path) -> subprocess.Popen[str]:
    """history.py, as a user starts it."""
    places = ["--state", str(folder / "state"), "--graph", f"sqlite:{folder / 'graph.db'}"]
    return subprocess.Popen(
        [sys.executable, str(ROOT / "history.py"), "--json", *places],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
