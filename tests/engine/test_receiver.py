"""Results find the monitor of their task."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tools.engine.monitor import Monitor
from tools.engine.pools import Pools
from tools.engine.receiver import receiver
from tools.engine.stage import Done, Found, Stage


def test_a_result_goes_to_its_stage_and_one_with_an_old_token_to_nobody(tmp_path: Path) -> None:
    came: list[tuple[str, Any]] = []
    answers: list[str] = []
    stages = [Stage("fetch", 1), Stage("extend", 1)]

    def monitor(stage: Stage) -> Monitor:
        fake = SimpleNamespace(
            stage=stage, came=lambda task, result, _: came.append((stage.name, task.uri))
        )
        return cast(Monitor, fake)

    with closing(Pools(tmp_path / "pools.db", stages)) as pools:
        receive = receiver(pools, [monitor(stage) for stage in stages])
        pools.discover(Found("extend", ["/c/en/dog"]))
        (task,) = pools.lease(stages[1])
        receive(task.token, "extend-1", Done("finished"), answers.append)
        assert came == [("extend", "/c/en/dog")] and not answers
        pools.retry_later(task, "taken back", spent=False)
        receive(task.token, "extend-1", Done("finished"), answers.append)
        assert len(came) == 1 and answers == ["stale"]
