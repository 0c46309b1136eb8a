"""A disk without room: for the state it ends the harvest, for media it makes media wait."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import (
    Process,
    SmallDisk,
    injected,
    main_py,
    run,
    small_disk,
    wait_until,
)
from tests.soak.compare import Essence, on_disk
from tests.support.command import finished, harvest_flags, relations_of, walk
from tests.support.worlds.conceptnet import World, hub
from tests.support.worlds.media import MediaWorld
from tools.engine.pools import Pools
from tools.engine.stage import Found, Stage
from tools.errors import StopHarvest
from tools.journal.reader import look
from tools.journal.snapshots import newest_good_snapshot, snapshot, snapshots

SEED = "/c/en/hub"
LINES = hub(250)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", "20m") as disk:
        yield disk


def test_a_full_state_ends_the_harvest_which_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with World(LINES) as world, small_disk(tmp_path / "state", "4m") as disk:
        words = main_py(*harvest_flags(tmp_path, world.url, SEED))
        code, process = run(tmp_path / "said", [*words, "--limit", "5"])
        assert code == 0, process.log
        disk.fill(but=100_000)
        code, process = run(tmp_path / "said", words)
        assert code == 5, process.log
        assert process.sentence.startswith("sheaf: "), process.log
        file = disk.folder / "pools.db"
        assert newest_good_snapshot(file) == snapshots(file)[-1]
        disk.make_room()
        code, process = run(tmp_path / "said", words)
        assert code == 0, process.log
        assert not list((disk.folder / "snapshots").glob("*.part*"))
        assert relations_of(tmp_path) == walk(LINES, SEED)[1]
        assert set(finished(disk.folder)) == walk(LINES, SEED)[0]
        assert look(file).pools["failed"] == 0


def test_a_snapshot_for_which_there_is_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    with small_disk(tmp_path / "state", "6m") as disk:
        file = disk.folder / "pools.db"
        pools = Pools(file, [Stage("fetch", 1)])
        taken = snapshot(file)
        pools.discover(Found("fetch", [f"/c/en/{number:0100}" for number in range(8000)]))
        pools.close()
        disk.fill(but=file.stat().st_size // 2)
        with pytest.raises(StopHarvest, match="snapshot"):
            snapshot(file)
        assert list(taken.parent.iterdir()) == [taken]


def test_below_the_reserve_media_wait_relations_do_not_and_one_alarm_is_given(
    tmp_path: Path, world: World, media: MediaWorld, quiet: Essence, disk: SmallDisk
) -> None:
    disk.fill(but=5_000_000)
    settings = "reserve_bytes = 5_000_000\nattempts = 1\nextend_workers = 1"
    harvest = Harvest(tmp_path / "h", world, media, settings=settings, into=disk.folder)
    with Process(tmp_path / "said", harvest.command) as process:
        process.wait_for("less than the reserve of 5 MB: extend waits until there is more room")
        wait_until(lambda: counted(harvest, "to_fetch", "on_fetch", "on_extend") == 0, "a rest")
        assert counted(harvest, "to_extend") > 0
        assert disk.free > 1_000_000
        disk.make_room()
        process.wait_for("has room again: extend goes on")
        assert process.end() == 0
        assert process.log.count("less than the reserve") == 1
    harvest.assert_same_as(quiet)


def test_media_without_any_room_wait_and_nobodys_attempt_is_spent(
    tmp_path: Path, world: World, media: MediaWorld, quiet: Essence, disk: SmallDisk
) -> None:
    disk.fill(but=100_000)
    settings = "reserve_bytes = 0\nattempts = 1"
    harvest = Harvest(tmp_path / "h", world, media, settings=settings, into=disk.folder)
    with Process(tmp_path / "said", harvest.command) as process:
        process.wait_for("has no room left")
        wait_until(lambda: counted(harvest, "to_fetch", "on_fetch") == 0, "all relations")
        assert_whole(disk.folder, quiet)
        disk.make_room()
        assert process.end() == 0
    harvest.assert_same_as(quiet)


def counted(harvest: Harvest, *pools: str) -> int:
    seen = look(harvest.places.pools).pools
    return sum(seen[pool] for pool in pools)


def assert_whole(folder: Path, quiet: Essence) -> None:
    """What has a final name is all of it."""
    for name, path in on_disk(folder).items():
        if name in quiet.files:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == quiet.files[name], name
        else:
            assert path.suffix in (".part", ""), name


def test_a_write_that_finds_no_room_leaves_no_part_of_a_file(
    tmp_path: Path, world: World, media: MediaWorld, quiet: Essence
) -> None:
    harvest = Harvest(tmp_path / "h", world, media, settings="attempts = 1")
    (name, *_) = [each for each in quiet.files if "/image/0." in each]
    part = (harvest.places.media / name).with_suffix(".part")
    what = injected("write:error=ENOSPC:when=1", part)
    code, process = run(tmp_path / "said", [*what, *harvest.command])
    assert code == 0, process.log
    assert "extend waits" in process.log and "has no room left" in process.log
    harvest.assert_same_as(quiet)
