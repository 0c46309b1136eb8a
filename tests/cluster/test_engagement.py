"""A node's work as its bus tells it: tasks and verdicts in whatever order they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tools.cluster.engagement import Engagement
from tools.cluster.hands import Hands
from tools.cluster.messages import Message, Result, Welcome, Work
from tools.cluster.pending import Pending
from tools.cluster.staff import NodeStaff, Passing
from tools.engine.executor import Came, Member
from tools.engine.stage import Done, Stage, Task

STAGES = {name: Stage(name, workers=4) for name in ("fetch", "extend")}
URI = "/c/en/dog"


class Places:
    """An executor whose tasks end when the test says so."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}

    def open(self, came: Came) -> None:
        self._came = came

    def places(self, stage: str) -> int:
        return 4

    def give(self, tasks: Sequence[Task]) -> None:
        self.tasks |= {task.stage.name: task for task in tasks}

    def end(self, stage: str) -> None:
        task = self.tasks.pop(stage)
        self._came(task.token, f"{stage}-1", Done("finished"), lambda verdict: None)

    def recall(self, stage: str) -> None: ...
    def rest(self, stage: str, numbers: Any) -> None: ...
    def members(self) -> Sequence[Member]:
        return []

    def finish(self) -> None: ...
    def close(self, grace_s: float) -> None: ...


class Keeping(Passing):
    keeps_files = True


class Scene:
    def __init__(self, folder: Path) -> None:
        self.places, self.said = Places(), list[Message]()
        self.pending = Pending(folder / "pending.db")
        carriers = {"fetch": Passing(), "extend": Keeping()}
        hands = Hands("alpha", lambda *_: None)
        ways = self.is_open, hands, self.pending, self.said.append
        self.work = Engagement(
            Welcome("s", "h", "conceptnet", {}, 20),
            NodeStaff(self.places, STAGES, carriers),
            *ways,
            Event(),
        )
        self.work.places = dict.fromkeys(STAGES, 4)

    def is_open(self, token: int) -> bool:
        return True

    def comes(self, stage: str, token: int) -> None:
        work = Work(token, stage, 1, URI, None, 0, 0, False, 0, None, None, None)
        self.work.begin(work, "", 1)

    def results(self) -> list[tuple[str, int]]:
        return [(each.stage, each.token) for each in self.said if isinstance(each, Result)]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    with closing(made.pending):
        yield made


def test_the_next_stage_may_come_before_the_verdict(scene: Scene) -> None:
    """The queue and the verdicts are two ways, and one overtakes the other."""
    scene.comes("fetch", 1)
    scene.places.end("fetch")
    scene.comes("extend", 2)
    assert list(scene.places.tasks) == ["extend"] and scene.work.tokens() == [2, 1]
    scene.places.end("extend")
    scene.work.judged(1, "settled")
    assert [each.uri for each in scene.pending.all()] == [URI]  # its files are not booked yet
    scene.work.judged(2, "settled")
    assert scene.results() == [("fetch", 1), ("extend", 2)]
    assert scene.work.is_idle and not list(scene.pending.all())


def test_the_next_stage_may_come_while_the_one_before_is_done_in_vain(scene: Scene) -> None:
    """Another node was quicker."""
    scene.comes("fetch", 1)
    scene.comes("extend", 2)
    assert sorted(scene.places.tasks) == ["extend", "fetch"]
    scene.places.end("fetch")
    scene.places.end("extend")
    assert scene.results() == [("fetch", 1), ("extend", 2)]


@pytest.mark.parametrize("has_ended", [False, True])
def test_what_is_given_again_is_answered_by_its_new_token(scene: Scene, has_ended: bool) -> None:
    scene.comes("extend", 1)
    if has_ended:
        scene.places.end("extend")
    scene.comes("extend", 7)
    assert scene.work.tokens() == [7]
    if not has_ended:
        scene.places.end("extend")
    scene.work.judged(7, "settled")
    assert scene.work.is_idle and not list(scene.pending.all())
