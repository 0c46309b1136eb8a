"""A file that crashes its process, eats memory or lets it stand still costs only its concept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import limited, main_py, run
from tests.faults.poison import poisoned
from tests.soak.compare import PATH, Essence, essence, on_disk
from tests.soak.workers import impatient
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.engine.marks import MOST
from tools.journal.reader import look

POISON = "/c/en/flea"
FILE = "en/flea/image/1.part"  # not the first: what came before must not stay behind
TOP = "processes = 2\nattempts = 2\nextend_workers = 4"


def recorded(found: Essence) -> set[str]:
    return {row[PATH] for row in found.graph["media"]}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", ["crash", "silent", "memory"])
def test_what_harms_its_process_fails_alone_and_can_be_tried_again(
    tmp_path: Path, world: World, media: MediaWorld, quiet: Essence, kind: str
) -> None:
    harvest = Harvest(tmp_path / "h", world, media, settings=TOP)
    words = impatient(*harvest.words, folder=poisoned(tmp_path / "hook", kind, FILE))
    if kind == "memory":
        words = [*limited(as_=1_500_000_000), *words]
    code, process = run(tmp_path / "said", words, MALLOC_ARENA_MAX="1")
    assert code == 0, process.log
    assert "Traceback" not in process.log and "a bug" not in process.log, process.log
    seen = look(harvest.places.pools)
    (reason,) = seen.failures
    assert reason.startswith("there is not enough memory" if kind == "memory" else "the process")
    assert process.log.count("marked uri=") >= (0 if kind == "memory" else MOST)
    found = essence(harvest.places)
    assert found.finished == [each for each in quiet.finished if each != POISON]
    left = [name for name in on_disk(harvest.places.media) if name not in recorded(found)]
    kept = [] if kind != "memory" else ["en/flea/audio/0.flac", "en/flea/image/0.jpg"]
    assert sorted(left) == kept, "only what a draft knows stays"
    again = main_py("retry", *harvest.place_words[:4])
    code, process = run(tmp_path / "said", again)
    assert code == 0, process.log
    harvest.run()
    harvest.assert_as_complete_as(quiet)
