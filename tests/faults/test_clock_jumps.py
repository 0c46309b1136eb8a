"""The wall clock is set while the harvest runs; a task hangs meanwhile."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.injection import Clock, Process, main_py, wait_until
from tests.faults.slow import Held, held
from tests.support.command import harvest_flags, walk
from tests.support.worlds.conceptnet import Asked, Proceed, World, about, fails, hub, only
from tools.journal.reader import look
from tools.journal.snapshots import newest_good_snapshot, snapshots
from tools.network.reply import Reply

LINES = hub(60)
SEED, HANGING = "/c/en/hub", "/c/en/neighbour_2"
SETTINGS = """
stop_grace_s = 1.0
fetch_workers = 3
[http]
answer_timeout_s = 3600.0
[clock]
hang_s = 1.0
snapshot = "0 * * * *"
"""
PATIENCE_S = 60.0


@pytest.fixture
def fault() -> Iterator[Held]:
    with held() as fault:
        yield fault


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    clock = Clock(tmp_path / "offset")
    clock.at("2030-06-01T10:20:00")
    return clock


@pytest.fixture
def harvest(tmp_path: Path, clock: Clock, fault: Held) -> Iterator[Process]:
    """All is done but one task, which is never answered."""
    config = tmp_path / "sheaf.toml"
    config.write_text(SETTINGS)
    with World(LINES, only(about(HANGING), fault)) as world:
        words = main_py(*harvest_flags(tmp_path, world.url, SEED, "--config", config))
        with Process(tmp_path / "said", words, **clock.environment) as process:
            assert fault.asked.wait(PATIENCE_S)
            wait_until(lambda: waiting(tmp_path) == 0, "the end of the others")
            yield process
            fault.release()


def waiting(folder: Path) -> int:
    return look(folder / "state" / "pools.db").pools["to_fetch"]


def numbers(folder: Path) -> list[int]:
    return [int(path.name[:6]) for path in snapshots(folder / "state" / "pools.db")]


def test_a_task_that_hangs_is_told_with_what_every_thread_does(
    tmp_path: Path, clock: Clock, harvest: Process
) -> None:
    harvest.wait_for(f"fetch uri='{HANGING}' is at work for more than 1 s")
    harvest.wait_for(f"thread fetch {HANGING}: ")
    harvest.wait_for("thread monitor fetch: ")
    harvest.wait_for("thread MainThread: ")
    clock.at("2030-06-01T11:00:00")
    wait_until(lambda: numbers(tmp_path) == [1], "a snapshot in spite of it")
    harvest.signal(signal.SIGTERM)
    begun = time.monotonic()
    assert harvest.end() == 0, harvest.log
    assert time.monotonic() - begun < 30
    assert harvest.log.count("is at work for more than") == 1
    assert harvest.log.count(f"thread fetch {HANGING}: ") == 1
    pools = look(tmp_path / "state" / "pools.db").pools
    assert (pools["to_fetch"], pools["on_fetch"], pools["failed"]) == (1, 0, 0)


def test_a_clock_that_jumps_brings_neither_two_snapshots_nor_none(
    tmp_path: Path, clock: Clock, harvest: Process
) -> None:
    def snapshot_comes_at(moment: str, number: int) -> None:
        clock.at(moment)
        wait_until(lambda: len(numbers(tmp_path)) == number, f"snapshot {number} at {moment}")

    snapshot_comes_at("2030-06-04T10:20:00", 1)  # three days that were missed are one snapshot
    clock.at("2030-06-04T07:15:00")  # three hours back: no slot has come
    harvest.wait_for("snapshot runs next at 2030-06-04 08:00")
    snapshot_comes_at("2030-06-04T08:00:00", 2)  # and the next one is by the new time
    snapshot_comes_at("2030-06-04T09:00:00", 3)
    clock.at("2030-03-31T01:20:00")  # months back, as summer time begins
    harvest.wait_for("snapshot runs next at 2030-03-31 02:00")
    snapshot_comes_at("2030-03-31T02:00:00", 4)
    harvest.signal(signal.SIGTERM)
    assert harvest.end() == 0, harvest.log
    assert numbers(tmp_path) == [1, 2, 3, 4, 5]  # the last one is that of the end
    file = tmp_path / "state" / "pools.db"
    names = [path.name for path in snapshots(file)]
    assert names[3] > names[2] and "2030-03-31" in names[3]
    assert newest_good_snapshot(file) == snapshots(file)[-1]


# --- who waits for a next attempt -------------------------------------------------------------


class Poor:
    """Fails until it is mended."""

    def __init__(self) -> None:
        self.is_mended = False

    def __call__(self, asked: Asked, proceed: Proceed) -> Reply:
        return proceed(asked) if self.is_mended else fails(500)(asked, proceed)


def flags(folder: Path, world: World) -> list[str]:
    config = folder / "sheaf.toml"
    config.write_text("attempts = 50\n[http]\ntries = 1\n")
    return main_py(*harvest_flags(folder, world.url, SEED, "--config", config))


def wait_for_a_delay(folder: Path) -> None:
    """Everybody else is done, and it waits for its next attempt."""
    log = folder / "state" / "log"
    wait_until(
        lambda: log.exists() and log.read_text().count("Monitor fetch postponed uri=") > 1,
        "a delay",
    )
    wait_until(lambda: waiting(folder) == 1, "the end of the others")


def test_a_clock_set_back_does_not_delay_the_next_attempt(tmp_path: Path, clock: Clock) -> None:
    poor = Poor()
    with (
        World(LINES, only(about(HANGING), poor)) as world,
        Process(tmp_path / "said", flags(tmp_path, world), **clock.environment) as process,
    ):
        wait_for_a_delay(tmp_path)
        clock.at("2030-06-01T07:20:00")
        poor.is_mended = True
        assert process.end() == 0, process.log
    assert "the clock was set back" in process.log
    assert look(tmp_path / "state" / "pools.db").pools["finished"] == len(walk(LINES, SEED)[0])


def test_a_clock_set_back_before_a_restart_does_not_delay_the_next_attempt(
    tmp_path: Path, clock: Clock
) -> None:
    poor = Poor()
    with World(LINES, only(about(HANGING), poor)) as world:
        with Process(tmp_path / "said", flags(tmp_path, world), **clock.environment) as process:
            wait_for_a_delay(tmp_path)
            process.signal(signal.SIGTERM)
            assert process.end() == 0, process.log
        poor.is_mended = True
        clock.at("2030-05-29T10:20:00")
        with Process(tmp_path / "again", flags(tmp_path, world), **clock.environment) as process:
            assert process.end() == 0, process.log
    assert look(tmp_path / "state" / "pools.db").pools["finished"] == len(walk(LINES, SEED)[0])
