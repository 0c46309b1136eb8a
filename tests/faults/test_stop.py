"""Asked to stop while everybody waits for a slow server; two at once; one that never succeeds."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.injection import Process, main_py, run, wait_until
from tests.faults.slow import Dribbling
from tests.support.command import harvest_flags, history, relations_of, walk
from tests.support.worlds.conceptnet import World, about, fails, hub, only
from tools.journal.reader import look
from tools.journal.snapshots import snapshots

SEED = "/c/en/hub"
LINES = hub(60)
WORKERS = 8
ON_TIME_S = 30.0  # for a process that ends, on a slow machine


@pytest.fixture
def world() -> Iterator[World]:
    with World(LINES) as world:
        yield world


@pytest.fixture
def server(world: World) -> Iterator[Dribbling]:
    with Dribbling(world, whole=2) as server:
        yield server


@pytest.fixture
def grace_s() -> float:
    return 1.0


@pytest.fixture
def harvest(tmp_path: Path, server: Dribbling, grace_s: float) -> Iterator[Process]:
    """Eight workers are busy."""
    config = tmp_path / "sheaf.toml"
    config.write_text(f"stop_grace_s = {grace_s}\n")
    words = harvest_flags(tmp_path, server.url, SEED, "--config", config)
    with Process(tmp_path / "said", main_py(*words)) as process:
        wait_until(lambda: server.dribbling == WORKERS, "eight at work")
        yield process


def assert_loads_and_goes_on(folder: Path, world: World) -> None:
    pools = look(folder / "state" / "pools.db").pools
    assert (pools["failed"], pools["finished"]) == (0, 1)
    code, process = run(folder / "said", main_py(*harvest_flags(folder, world.url, SEED)))
    assert code == 0, process.log
    assert relations_of(folder) == walk(LINES, SEED)[1]


def test_asked_to_stop_it_gives_back_what_runs_after_the_grace_time(
    tmp_path: Path, world: World, server: Dribbling, harvest: Process
) -> None:
    asked = server.asked
    begun = time.monotonic()
    harvest.signal(signal.SIGTERM)
    assert harvest.end() == 0, harvest.log
    assert 1.0 <= time.monotonic() - begun < 1.0 + ON_TIME_S
    assert "stopping: running tasks have 1 s" in harvest.log
    assert server.asked == asked, "something new was handed out"
    file = tmp_path / "state" / "pools.db"
    (taken,) = snapshots(file)
    assert look(taken).pools == look(file).pools
    assert look(file).pools["on_fetch"] == 0
    assert_loads_and_goes_on(tmp_path, world)


@pytest.mark.parametrize("grace_s", [120.0])
def test_asked_twice_it_is_gone_at_once(tmp_path: Path, world: World, harvest: Process) -> None:
    harvest.signal(signal.SIGINT)
    harvest.wait_for("stopping")
    begun = time.monotonic()
    harvest.signal(signal.SIGINT)
    assert harvest.end() == 130
    assert time.monotonic() - begun < ON_TIME_S
    assert "Traceback" not in harvest.log
    assert harvest.sentence.endswith("stopping: running tasks have 120 s")
    assert_loads_and_goes_on(tmp_path, world)


def test_a_second_one_changes_not_a_byte_and_a_third_needs_no_cleaning_up(
    tmp_path: Path, world: World, harvest: Process
) -> None:
    harvest.signal(signal.SIGSTOP)  # so that it changes nothing itself
    before = contents(tmp_path / "state")
    words = main_py(*harvest_flags(tmp_path, world.url, SEED))
    code, second = run(tmp_path / "second", words)
    assert code == 4
    assert second.log == (
        f"sheaf: a harvest already runs in {tmp_path / 'state'} (process {harvest.pid})\n"
    )
    assert contents(tmp_path / "state") == before
    harvest.kill()
    assert_loads_and_goes_on(tmp_path, world)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_never_succeeds_is_shown_and_left_alone_until_somebody_asks(tmp_path: Path) -> None:
    config = tmp_path / "strict.toml"
    config.write_text("attempts = 2\n[http]\ntries = 1\n")
    poisoned = "/c/en/neighbour_2"
    with World(LINES, only(about(poisoned), fails(404))) as world:
        words = harvest_flags(tmp_path, world.url, SEED, "--config", config)
        for _ in range(2):
            code, process = run(tmp_path / "said", main_py(*words))
            assert code == 0, process.log
            asked = [path for path in world.paths if path.startswith(f"{poisoned}?")]
            assert len(asked) == 1, "a restart tried it again"
        seen = history(tmp_path)
        assert seen["pools"]["failed"] == 1
        assert "404" in str(seen["failures"])
        world.fault = None
        state = ("--state", tmp_path / "state", "--config", config)
        code, process = run(tmp_path / "said", main_py("retry", *state, "--reason", "404"))
        assert (code, process.said.split()[0]) == (0, "1"), process.log
        code, process = run(tmp_path / "said", main_py(*words))
    assert code == 0, process.log
    assert look(tmp_path / "state" / "pools.db").pools["failed"] == 0
    assert relations_of(tmp_path) == walk(LINES, SEED)[1]
