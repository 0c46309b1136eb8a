"""Who is called with each result that an executor brings."""

from __future__ import annotations

from collections.abc import Sequence

from .executor import Answer, Came
from .monitor import Monitor
from .pools import Pools
from .stage import Done


def receiver(pools: Pools, monitors: Sequence[Monitor]) -> Came:
    """Brings each result to the monitor of its task; nobody waits for one with an old token."""
    by_stage = {monitor.stage.name: monitor for monitor in monitors}

    def came(token: int, _holder: str, result: Done | Exception, answer: Answer) -> None:
        if (task := pools.task(token)) is None:
            answer("stale")
        else:
            by_stage[task.stage.name].came(task, result, answer)

    return came
