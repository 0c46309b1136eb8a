"""What the tests of faults share: the sample world with its media, and a quiet harvest of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.harvests import Harvest
from tests.soak.compare import Essence, essence
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.sample import world as sample


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with World(list(sample.lines())) as world:
        yield world


@pytest.fixture(scope="session")
def media() -> Iterator[MediaWorld]:
    with MediaWorld() as media:
        yield media


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory, world: World, media: MediaWorld) -> Essence:
    """What a small harvest comes to that nobody disturbs."""
    harvest = Harvest(tmp_path_factory.mktemp("quiet") / "harvest", world, media)
    harvest.run()
    return essence(harvest.places)
