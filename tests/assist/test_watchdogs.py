"""What is looked after: whoever holds a stage lets it go again, and only that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from tools.assist.watchdogs import Backlog, Reserve
from tools.engine.committer import Committer
from tools.engine.monitor import Monitor
from tools.engine.pools import Pools
from tools.engine.stage import Done, Stage, Task
from tools.engine.threads import ThreadExecutor


class Scene:
    """A stage that writes files and one that does not, with nothing to do."""

    def __init__(self, folder: Path) -> None:
        stages = (Stage("fetch", 2), Stage("extend", 3, folder=folder))
        self.pools = Pools(folder / "pools.db", stages)
        executor = ThreadExecutor(stages, dict.fromkeys(("fetch", "extend"), _work))
        self.fetch, self.extend = (
            Monitor(each, self.pools, executor, cast(Committer, None), 1, lambda _: None)
            for each in stages
        )
        self.told: list[str] = []
        self.hastened = 0
        self.waiting = 0
        self.begun = 0
        self.is_shipping = False

    def tell(self, title: str, text: str) -> None:
        self.told.append(title)

    def run_soon(self) -> bool:
        self.hastened += not self.is_shipping
        return not self.is_shipping

    @property
    def places(self) -> tuple[int, int]:
        return self.fetch._free_places(), self.extend._free_places()

    def backlog(self, limit: float) -> Callable[[], None]:
        both = [self.fetch, self.extend]
        begun = lambda: self.begun  # noqa: E731
        return Backlog(both, lambda: self.waiting, limit, self.tell, self.run_soon, begun)


def _work(task: Task) -> Done:
    raise AssertionError(task)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.pools.close()


def test_at_the_limit_media_wait_and_relations_go_on(scene: Scene) -> None:
    watch = scene.backlog(100)
    for scene.waiting in (0, 99):
        watch()
        assert scene.places == (2, 3)
    for scene.waiting in (100, 120, 91):
        watch()
        assert scene.places == (2, 0)
    assert scene.told == ["the outbox is full"] and scene.hastened == 1
    scene.waiting = 90
    watch()
    assert scene.places == (2, 3)


def test_the_files_of_unfinished_tasks_count_for_the_limit(scene: Scene) -> None:
    watch = scene.backlog(100)
    scene.waiting, scene.begun = 10, 89
    watch()
    assert scene.places == (2, 3)
    scene.begun = 90
    watch()
    assert scene.places == (2, 0)


def test_what_is_ended_early_is_shipped_as_soon_as_nobody_ships(scene: Scene) -> None:
    watch = scene.backlog(100)
    scene.waiting, scene.begun = 10, 90
    watch()
    assert scene.hastened == 1
    scene.is_shipping = True
    for scene.waiting, scene.begun in [(50, 50), (100, 0), (100, 0)]:
        watch()
    assert scene.hastened == 1
    scene.is_shipping = False
    for _ in range(3):
        watch()
    assert scene.hastened == 2


def test_who_lets_go_lets_go_of_its_own_hold_only(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog, free = scene.backlog(100), [0]
    monkeypatch.setattr(
        "tools.assist.watchdogs.disk_usage", lambda _: type("", (), {"free": free[0]})
    )
    reserve = Reserve([scene.extend], 1000, scene.tell)
    scene.waiting = 100
    reserve()
    backlog()
    assert scene.places == (2, 0)
    free[0] = 5000
    reserve()
    assert scene.places == (2, 0)
    scene.waiting = 0
    backlog()
    assert scene.places == (2, 3)
    assert scene.told == ["the disk is nearly full", "the outbox is full"]
