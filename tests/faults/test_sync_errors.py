"""A disk that cannot keep what it was given says so once: that once must end the harvest.

Asked again it would say that all is well, and forget what it could not write.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.faults.injection import injected, main_py, run
from tests.faults.moves import STAGES
from tests.faults.test_kills import assert_moves_are_there, command
from tests.support.command import finished, harvest_flags, walk
from tests.support.worlds.conceptnet import World, hub
from tools.engine.pools import Pools
from tools.journal.snapshots import snapshots

SEED = "/c/en/hub"


@pytest.mark.parametrize("name", ["pools.db", "pools.db-wal"])
def test_no_refusal_among_moves_is_overheard(tmp_path: Path, name: str) -> None:
    """Some of the calls, up to one more than there are."""
    for tries, number in enumerate(itertools.accumulate(range(1, 20))):
        file = tmp_path / str(number) / "pools.db"
        what = f"fdatasync:error=EIO:when={number}"
        code, process = run(file.parent, [*injected(what, file.with_name(name)), *command(file)])
        if code == 0:
            assert tries, "no call was refused"
            return
        assert (code, "cannot be written" in process.sentence) == (5, True), process.log
        said = [line.split(" ") for line in process.said.splitlines()]
        acknowledged = {uri: pool for pool, uri in said if pool != "snapshot"}
        assert_moves_are_there(file, acknowledged, what)
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("fdatasync:error=EIO:when=2", "state/pools.db"),
        ("fdatasync:error=EIO:when=3", "graph.db-wal"),  # the last one, when it is closed
        ("fdatasync:error=EIO:when=2", "graph.db"),
        ("fsync:error=EIO:when=1", "state/snapshots"),
    ],
)
def test_a_refusal_ends_the_harvest_with_a_sentence(tmp_path: Path, call: str, name: str) -> None:
    lines = hub(60)
    with World(lines) as world:
        words = main_py(*harvest_flags(tmp_path, world.url, SEED))
        code, process = run(tmp_path / "said", injected(call, tmp_path / name) + words)
        assert code == 5, process.log
        assert process.sentence.startswith("sheaf: ")
        pools = Pools(tmp_path / "state" / "pools.db", STAGES)
        pools.close()
        code, process = run(tmp_path / "said", words)
    assert code == 0, process.log
    assert set(finished(tmp_path / "state")) == walk(lines, SEED)[0]
    assert not list((tmp_path / "state").glob("*.part*"))


def test_a_snapshot_that_cannot_be_kept_leaves_nothing_under_its_name(tmp_path: Path) -> None:
    """The copy itself is refused, of the first, the second and the third."""
    for number in (1, 2, 3):
        file = tmp_path / str(number) / "pools.db"
        what = f"fsync:error=EIO:when={2 * number - 1}"
        code, process = run(file.parent, [*injected(what), *command(file)])
        assert code == 5, process.log
        assert "snapshot" in process.sentence, process.log
        assert len(snapshots(file)) == number - 1
        assert not list(file.parent.glob("snapshots/*.part*"))
