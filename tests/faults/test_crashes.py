"""The process dies between two steps that belong together; a worker meets a bug."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import run
from tests.soak.compare import Essence
from tests.support.command import harvest_flags
from tests.support.worlds.conceptnet import World, hub
from tests.support.worlds.media import MediaWorld
from tools.journal.reader import look


def broken(place: str, when: object, *words: object) -> list[str]:
    module = [sys.executable, "-m", "tests.faults.broken", place, when, *words]
    return list(map(str, module))


@pytest.mark.parametrize(
    ("place", "numbers"),
    [
        ("media-rename", (1, 5)),  # a file has its name, and no record
        ("graph-relations", (1,)),  # the graph has relations of which no pool knows
        ("graph-media", (1,)),  # the graph has media that are not in the books
        ("books", (1,)),  # graph and books have media, their owners have not moved on
        ("move", (2,)),
    ],
)
def test_a_death_between_two_steps_changes_nothing(
    tmp_path: Path,
    world: World,
    media: MediaWorld,
    quiet: Essence,
    place: str,
    numbers: tuple[int, ...],
) -> None:
    all_in_one = "processes = 0"  # whose death is meant; that of workers is told elsewhere
    harvest = Harvest(tmp_path / "harvest", world, media, settings=all_in_one)
    for number in numbers:
        code, process = run(tmp_path / "said", broken(place, number, *harvest.words))
        assert code == 9, process.log
    harvest.run()
    harvest.assert_same_as(quiet)


def test_a_bug_costs_one_uri_and_leaves_one_traceback(tmp_path: Path) -> None:
    uri = "/c/en/neighbour_2"
    with World(hub(60)) as small:
        flags = harvest_flags(tmp_path, small.url, "/c/en/hub")
        code, process = run(tmp_path / "said", broken("bug", uri, *flags))
    assert code == 0, process.log
    assert process.log.count("Traceback") == 1
    assert process.log.count("KeyError: 'weight'") == 1
    assert f"fetch uri='{uri}'" in process.log
    seen = look(tmp_path / "state" / "pools.db")
    assert seen.pools["failed"] == 1 and seen.pools["finished"] > 20
    assert list(seen.failures) == ["a bug in Sheaf: KeyError('weight')"]
