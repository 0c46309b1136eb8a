"""Threads of this process as an executor."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from threading import Thread

import pytest

from tests.engine.executor_contract import (
    PLACES,
    STAGE,
    ExecutorContract,
    Scene,
    until,
    work,
)
from tools.engine.executor import Executor
from tools.engine.threads import ThreadExecutor
from tools.errors import Unavailable


class Started:
    """The threads that were not there before: another test may have left some that hang."""

    def __init__(self) -> None:
        self._before = set(threading.enumerate())

    def places(self) -> set[str]:
        new = set(threading.enumerate()) - self._before
        return {getattr(thread, "place", thread.name) for thread in new}


@pytest.fixture
def started() -> Started:
    return Started()


class TestThreadExecutor(ExecutorContract):
    def make(self) -> Executor:
        return ThreadExecutor([STAGE], {STAGE.name: work})

    def test_each_place_has_a_thread_that_ends_when_it_is_recalled(
        self, started: Started, scene: Scene
    ) -> None:
        scene.give(PLACES, "waiting")
        until(lambda: started.places() == {"fetch-1", "fetch-2", "fetch-3"}, "a thread for each")
        scene.executor.recall(STAGE.name)
        assert len(started.places()) == PLACES, "they are at work"
        scene.open_gate()
        until(lambda: not started.places(), "all have ended")

    def test_idle_threads_end_at_once_when_they_are_recalled(
        self, started: Started, scene: Scene
    ) -> None:
        scene.give(PLACES)
        scene.wait_for(PLACES)
        assert started.places()
        scene.executor.recall(STAGE.name)
        until(lambda: not started.places(), "all have ended")

    def test_a_thread_that_cannot_be_had_costs_its_task_a_while_and_no_place(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(_thread: Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patched:
            patched.setattr(Thread, "start", refused)
            scene.give(2)
            assert all(isinstance(each.result, Unavailable) for each in scene.wait_for(2))
        tasks = scene.give(PLACES, "waiting")
        until(lambda: scene.at_work() == PLACES, "every place is used")
        assert len({task.holder for task in tasks}) == PLACES

    def test_an_error_is_gone_when_it_was_answered(self, tmp_path: Path) -> None:
        """Its traceback holds whatever the worker had: bodies, sockets, files."""
        with self.opened(tmp_path) as scene:
            gc.collect()
            gc.disable()
            try:
                scene.give(1, "later")
                (arrival,) = scene.wait_for(1)
                assert isinstance(arrival.result, Exception)
                error = weakref.ref(arrival.result)
                scene.arrivals.clear()
                del arrival
                scene.give(1)  # the thread has begun something else
                scene.wait_for(1)
                assert error() is None
            finally:
                gc.enable()
