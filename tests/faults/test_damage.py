"""Snapshots that are torn, and a state of which nothing is left: never a fresh start by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.injection import main_py, run
from tests.support.command import Here, finished, harvest_flags, walk
from tests.support.worlds.conceptnet import World, hub
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.errors import StateDamaged
from tools.journal.reader import look
from tools.journal.snapshots import newest_good_snapshot, open_state, snapshot
from tools.media.ledger import Ledger

SEED, NOWHERE = "/c/en/hub", "http://127.0.0.1:9"
FETCH = Stage("fetch", 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A state with two snapshots; between them something was finished."""
    file = tmp_path / "state" / "pools.db"
    file.parent.mkdir()
    pools = Pools(file, [FETCH])
    pools.discover(Found("fetch", [SEED, "/c/en/neighbour_0"]))
    snapshot(file)
    for task in pools.lease(FETCH, 2):
        pools.advance((task, Done("finished")))
    snapshot(file)
    pools.close()
    return file


def cuts(size: int) -> list[int]:
    return [0, 1, size // 2, size - 1]


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_torn_snapshot_is_passed_over_wherever_it_is_cut(file: Path) -> None:
    older, newest = sorted((file.parent / "snapshots").iterdir())
    whole, before = newest.read_bytes(), look(file)
    for size in cuts(len(whole)):
        newest.write_bytes(whole[:size])
        assert newest_good_snapshot(file) == older
        open_state(file).close()
        assert look(file) == before, "the state itself does not need it"
    tear(file)
    with pytest.raises(StateDamaged, match=f"--resume {older}"):
        open_state(file)


def test_from_the_older_snapshot_it_goes_on_to_the_same_end(file: Path) -> None:
    older, newest = sorted((file.parent / "snapshots").iterdir())
    tear(newest)
    tear(file)
    folder = file.parent.parent
    with World(hub(20)) as world:
        words = main_py(*harvest_flags(folder, world.url, SEED))
        code, process = run(folder / "said", words)
        assert code == 6
        assert process.sentence.endswith(f"start again with --resume {older}")
        leave_unfinished(file)
        code, process = run(folder / "said", [*words, "--resume", str(older)])
    assert code == 0, process.log
    assert (file.parent / "log").read_text().count("was not finished and is removed") == 1
    assert not list(older.parent.glob("*.part*"))
    assert set(finished(file.parent)) == walk(hub(20), SEED)[0]


def leave_unfinished(file: Path) -> None:
    """As a process does that is killed amid a snapshot."""
    for name in ("000003-2030-01-01_00-00-00.part", "000003-2030-01-01_00-00-00.part-journal"):
        (file.parent / "snapshots" / name).write_bytes(b"half")


def test_nothing_begins_anew_where_everything_is_damaged(file: Path, here: Here) -> None:
    damaged = [file, *(file.parent / "snapshots").iterdir()]
    for path in damaged:
        tear(path)
    before = [path.read_bytes() for path in damaged]
    said = here(*map(str, harvest_flags(file.parent.parent, NOWHERE, SEED)))
    assert said.startswith("6 ") and "there is no good snapshot; --fresh" in said
    assert [path.read_bytes() for path in damaged] == before


def test_media_without_their_state_are_not_begun_anew(tmp_path: Path, here: Here) -> None:
    media = tmp_path / "m"
    assert Ledger(media).claim("another harvest")
    said = here("--source", NOWHERE, "--state", str(tmp_path / "new"), "--media", str(media))
    assert said.startswith("6 ") and "holds the media of a harvest that" in said
    assert [path.name for path in media.iterdir()] == ["HARVEST"]
