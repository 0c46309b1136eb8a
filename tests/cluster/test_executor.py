"""Processes of this machine as an executor."""

from __future__ import annotations

import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

from tests.engine.executor_contract import PATIENCE_S, STAGE, ExecutorContract
from tools.cluster.executor import Away, ProcessExecutor
from tools.engine.executor import Executor
from tools.engine.stage import Done, Stage, Task
from tools.errors import HarvestError

COMMAND = (sys.executable, "-m", "tests.cluster.process")


class NoCargo:
    def outgoing(self, _task: Task) -> Any:
        return None

    def incoming(self, _task: Task, _result: Done | HarvestError, _cargo: Any) -> object:
        return None

    def lost(self, _task: Task) -> None:
        """Nothing is left of it."""


def away(processes: int = 2, memory: int | None = None) -> Away:
    return Away({STAGE.name: NoCargo()}, processes, COMMAND, memory=memory)


class TestProcessExecutor(ExecutorContract):
    def make(self) -> Executor:
        return ProcessExecutor([STAGE], {}, away(), Event())


def test_who_computes_goes_on_while_what_it_did_is_stored(tmp_path: Path) -> None:
    """Nobody answers here, and the one place works on all of them."""
    stage, came = Stage(STAGE.name, 1, kind="computes"), SimpleQueue[int]()
    executor = ProcessExecutor([stage], {}, away(1), Event())
    executor.open(lambda token, *_: came.put(token))
    numbers = range(1, 5)
    tasks = [Task(n, f"plain|{tmp_path}|{n}", stage, None, 0, 0, token=n) for n in numbers]
    executor.give(tasks)
    try:
        assert [came.get(timeout=PATIENCE_S) for _ in numbers] == list(numbers)
    finally:
        executor.close(PATIENCE_S)
