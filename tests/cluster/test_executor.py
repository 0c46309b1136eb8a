"""Processes of this machine as an executor."""

from __future__ import annotations

import sys
from threading import Event
from typing import Any

from tests.engine.executor_contract import STAGE, ExecutorContract
from tools.cluster.executor import Away, ProcessExecutor
from tools.engine.executor import Executor
from tools.engine.stage import Done, Task
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
