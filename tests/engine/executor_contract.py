"""What every executor keeps to, whatever does its work; subclass it and say how one is made.

What a task does is written in its URI, and whom it waits for in a folder: so the same tests serve
executors whose workers are processes of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import pytest

from tools.engine.executor import Answer, Executor
from tools.engine.stage import Done, Found, Stage, Task
from tools.errors import Interrupted, RetryLater

PATIENCE_S = 60.0
A_WHILE_S = 0.1  # in which what must not happen would have happened
PLACES = 3
STAGE = Stage("fetch", PLACES)


def work(task: Task) -> Done:
    """The worker of every executor that is tested: `kind|folder|number`."""
    kind, folder, number = task.uri.split("|")
    if kind == "bug":
        raise KeyError(f"oops {number}")
    if kind == "later":
        raise RetryLater(f"not now {number}", 7.0)
    if kind == "waiting":
        wait_at_gate(Path(folder), number)
    return Done("finished", [Found("fetch", [f"found by {number}"])], tally={"seen": 1})


def wait_at_gate(folder: Path, number: str) -> None:
    """A file stands for each task that is at work, until the gate is opened."""
    mark = folder / f"at-work-{number}"
    mark.touch()
    deadline = time.monotonic() + PATIENCE_S
    while not (folder / "open").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    mark.unlink()


class Arrival(NamedTuple):
    token: int
    holder: str
    result: Done | Exception
    answer: Answer


class Scene:
    """An executor and all that came from it, answered at once unless `answers` is False."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        self.executor = executor
        self.folder = folder
        self.answers = True
        self.arrivals: list[Arrival] = []
        self._lock = Lock()
        self._last = 0
        executor.open(self._came)

    def give(self, count: int, kind: str = "plain") -> list[Task]:
        numbers = range(self._last + 1, self._last + count + 1)
        self._last += count
        uris = [f"{kind}|{self.folder}|{number}" for number in numbers]
        tasks = [
            Task(number, uri, STAGE, None, 0, 0, token=5 << 40 | number)
            for number, uri in zip(numbers, uris, strict=True)
        ]
        self.executor.give(tasks)
        return tasks

    def at_work(self) -> int:
        return len(list(self.folder.glob("at-work-*")))

    def open_gate(self) -> None:
        (self.folder / "open").touch()

    def wait_for(self, count: int) -> list[Arrival]:
        """So many have come, and in a while no more."""
        until(lambda: len(self.arrivals) >= count, f"{count} results come")
        time.sleep(A_WHILE_S)
        with self._lock:
            assert len(self.arrivals) == count
            return list(self.arrivals)

    def _came(self, token: int, holder: str, result: Done | Exception, answer: Answer) -> None:
        with self._lock:
            self.arrivals.append(Arrival(token, holder, result, answer))
        if self.answers:
            answer("settled" if isinstance(result, Done) else "again")


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.005)


def tokens(tasks: list[Task] | list[Arrival]) -> list[int]:
    return sorted(each.token for each in tasks)


class ExecutorContract:
    """`make` gives an executor with PLACES places for STAGE, whose worker is `work`."""

    def make(self) -> Executor:
        raise NotImplementedError

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Scene]:
        scene = Scene(self.make(), folder)
        try:
            yield scene
        finally:
            scene.open_gate()
            scene.executor.close(PATIENCE_S)

    @pytest.fixture
    def scene(self, tmp_path: Path) -> Iterator[Scene]:
        with self.opened(tmp_path) as scene:
            yield scene

    def test_each_task_comes_back_once_with_its_token_and_what_it_found(self, scene: Scene) -> None:
        tasks = scene.give(20)
        arrivals = scene.wait_for(20)
        assert tokens(arrivals) == tokens(tasks)
        for token, _, result, _ in arrivals:
            assert isinstance(result, Done) and result.to == "finished"
            assert result.tally == {"seen": 1}
            assert list(result.found[0].uris) == [f"found by {token & (1 << 40) - 1}"]

    def test_never_more_at_work_than_there_are_places(self, scene: Scene) -> None:
        assert scene.executor.places(STAGE.name) == PLACES
        tasks = scene.give(3 * PLACES, "waiting")
        until(lambda: scene.at_work() == PLACES, "every place is used")
        time.sleep(A_WHILE_S)
        assert scene.at_work() == PLACES and not scene.arrivals
        scene.open_gate()
        assert tokens(scene.wait_for(3 * PLACES)) == tokens(tasks)

    def test_a_place_is_free_when_its_result_was_answered_and_not_before(
        self, scene: Scene
    ) -> None:
        """Until then its task is in the pool under its name: nobody may stand there twice."""
        scene.answers = False
        scene.give(PLACES + 1)
        first = scene.wait_for(PLACES)
        assert len({each.holder for each in first}) == PLACES and "" not in {
            each.holder for each in first
        }
        first[1].answer("settled")
        *_, last = scene.wait_for(PLACES + 1)
        assert last.holder not in (first[0].holder, first[2].holder)
        for each in (first[0], first[2], last):
            each.answer("stale")

    def test_a_task_names_its_holder_while_it_is_at_work(self, scene: Scene) -> None:
        tasks = scene.give(PLACES, "waiting")
        until(lambda: scene.at_work() == PLACES, "all are at work")
        until(lambda: all(task.holder for task in tasks), "all holders are known")
        assert len({task.holder for task in tasks}) == PLACES
        scene.open_gate()
        by_token = {each.token: each.holder for each in scene.wait_for(PLACES)}
        assert by_token == {task.token: task.holder for task in tasks}

    def test_what_a_worker_raises_comes_as_such_and_costs_no_place(self, scene: Scene) -> None:
        scene.give(2 * PLACES, "later")
        for token, _, error, _ in scene.wait_for(2 * PLACES):
            assert isinstance(error, RetryLater) and error.delay == 7.0
            assert str(error) == f"not now {token & (1 << 40) - 1}"
        scene.give(PLACES, "bug")
        *_, bug = scene.wait_for(3 * PLACES)
        assert isinstance(bug.result, Exception) and "oops" in repr(bug.result)
        scene.give(2 * PLACES)
        scene.wait_for(5 * PLACES)

    def test_what_nobody_has_begun_can_be_recalled(self, scene: Scene) -> None:
        tasks = scene.give(PLACES + 4, "waiting")
        until(lambda: scene.at_work() == PLACES, "every place is used")
        scene.executor.recall(STAGE.name)
        recalled = scene.wait_for(4)
        assert all(isinstance(each.result, Interrupted) for each in recalled)
        assert {each.holder for each in recalled} == {""}
        assert scene.at_work() == PLACES, "who is at work goes on"
        scene.open_gate()
        arrivals = scene.wait_for(PLACES + 4)
        assert tokens(arrivals) == tokens(tasks)
        assert all(isinstance(each.result, Done) for each in arrivals[4:])

    def test_after_a_recall_more_can_be_given(self, scene: Scene) -> None:
        scene.give(PLACES)
        scene.wait_for(PLACES)
        scene.executor.recall(STAGE.name)
        scene.give(2 * PLACES)
        assert all(isinstance(each.result, Done) for each in scene.wait_for(3 * PLACES))

    def test_a_place_that_rests_ends_its_task_and_gets_no_other(self, scene: Scene) -> None:
        first = scene.give(PLACES, "waiting")
        until(lambda: all(task.holder for task in first), "every place is used")
        scene.executor.rest(STAGE.name, [2])
        assert scene.executor.places(STAGE.name) == PLACES - 1
        more = scene.give(3 * PLACES)
        scene.open_gate()
        scene.wait_for(4 * PLACES)
        more += scene.give(3 * PLACES)
        scene.wait_for(7 * PLACES)
        assert {task.holder for task in more} == {"fetch-1", "fetch-3"}
        scene.executor.rest(STAGE.name, [1, 2, 3])
        (last,) = scene.give(1)
        time.sleep(A_WHILE_S)
        assert last.holder not in ("fetch-1", "fetch-2", "fetch-3")
        scene.executor.rest(STAGE.name, [1, 3])
        scene.wait_for(7 * PLACES + 1)
        assert last.holder == "fetch-2"

    def test_closing_waits_for_what_is_at_work_but_not_beyond_its_grace(self, scene: Scene) -> None:
        scene.give(PLACES + 2, "waiting")
        until(lambda: scene.at_work() == PLACES, "every place is used")
        begun = time.monotonic()
        scene.executor.close(0.3)
        assert 0.25 < time.monotonic() - begun < PATIENCE_S / 2
        assert all(isinstance(each.result, Interrupted) for each in scene.wait_for(2))

    def test_closing_ends_as_soon_as_everybody_has_come_home(self, scene: Scene) -> None:
        scene.give(PLACES, "waiting")
        until(lambda: scene.at_work() == PLACES, "every place is used")
        scene.open_gate()
        begun = time.monotonic()
        scene.executor.close(PATIENCE_S)
        assert time.monotonic() - begun < PATIENCE_S / 2
        assert len(scene.arrivals) == PLACES

    def test_members_say_how_many_places_there_are_and_are_used(self, scene: Scene) -> None:
        def sums() -> tuple[int, int]:
            members = scene.executor.members()
            return (
                sum(each.places.get(STAGE.name, 0) for each in members),
                sum(each.at_work.get(STAGE.name, 0) for each in members),
            )

        assert all(each.name for each in scene.executor.members()) and sums() == (PLACES, 0)
        scene.give(2, "waiting")
        until(lambda: sums() == (PLACES, 2), "two are at work")
        scene.open_gate()
        until(lambda: sums() == (PLACES, 0), "nobody is at work")
