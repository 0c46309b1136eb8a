"""A disk that may not be written, and a state folder that goes away while the harvest runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import Process, main_py, run, small_disk
from tests.support.command import harvest_flags
from tests.support.needs import program
from tests.support.worlds.conceptnet import World, hub
from tests.support.worlds.media import MediaWorld
from tools.journal.reader import look

SEED = "/c/en/hub"


def without_privileges() -> list[str]:
    """Words before a command: even for root, what may not be written is not written."""
    if os.geteuid():
        return []
    lost = "-dac_override,-dac_read_search"
    return [program("setpriv", "util-linux"), f"--bounding-set={lost}", f"--inh-caps={lost}"]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_read_only_state_is_named_before_any_work(tmp_path: Path, is_new: bool) -> None:
    with World(hub(20)) as world, small_disk(tmp_path / "state", "4m") as disk:
        words = main_py(*harvest_flags(tmp_path, world.url, SEED))
        if not is_new:
            assert run(tmp_path / "said", [*words, "--limit", "3"])[0] == 0
        asked = len(world.paths)
        disk.remount("ro")
        code, process = run(tmp_path / "said", words)
        assert code == 5, process.log
        assert process.log.startswith(f"sheaf: the state folder {disk.folder} cannot be used")
        assert len(process.log.splitlines()) == 1
        assert len(world.paths) == asked


@pytest.mark.parametrize("what", ["state", "m", "graph"])
def test_a_folder_that_is_closed_to_us_is_named_before_any_work(
    tmp_path: Path, world: World, media: MediaWorld, what: str
) -> None:
    harvest = Harvest(tmp_path / "h", world, media)
    closed = harvest.folder / what
    closed.mkdir(mode=0o500)
    graph = ["--graph", f"sqlite:{closed / 'graph.db'}"] if what == "graph" else []
    asked = len(world.paths)
    code, process = run(tmp_path / "said", [*without_privileges(), *harvest.command, *graph])
    assert code == 5, process.log
    assert str(closed) in process.sentence and process.sentence.startswith("sheaf: ")
    assert len(process.log.splitlines()) == 1
    assert len(world.paths) == asked
    assert list(closed.iterdir()) == []


def test_a_state_that_is_moved_away_ends_the_harvest_and_is_not_made_anew(
    tmp_path: Path, world: World, media: MediaWorld
) -> None:
    harvest = Harvest(tmp_path / "h", world, media, depth=1)
    state = harvest.places.state
    with Process(tmp_path / "said", harvest.command) as process:
        media.wait_for(len(media.paths) + 60, timeout=60)
        state.rename(harvest.folder / "state.x")
        code = process.end()
        # Whoever writes next finds it out: mostly the pools, but it may be the graph.
        file = {5: "pools.db", 6: "graph.db"}.get(code)
        assert file is not None, process.log
        assert f"{state / file} was moved or removed while the harvest ran" in process.sentence
        assert not state.exists()
    assert look(harvest.folder / "state.x" / "pools.db").pools["failed"] == 0
