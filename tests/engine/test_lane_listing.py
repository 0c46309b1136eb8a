"""What waits in one lane can be listed, such as all pages of a host that is given up."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tools.engine.pools import Pools
from tools.engine.stage import Found, Stage


def test_what_waits_in_a_lane_is_listed(tmp_path: Path) -> None:
    stage = Stage("get", 9, "fair", lane=lambda uri: uri.partition("/")[0])
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        pools.discover(Found("get", ["a/1", "a/2", "b/1"]))
        assert pools.in_lane(stage, "a") == ["a/1", "a/2"]
