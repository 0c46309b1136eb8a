"""`cluster status` and the report: nodes that have keys, that work, that have files."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from main import main
from tools.cluster.key_folder import add_nodes, make_folder, remove_nodes
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.journal.instance import only_instance
from tools.journal.nodes import Node, nodes_fact

STAGE = Stage("extend", 1)
LAB = Node("lab-1", 1e9, 1e9, "1", 8, 3, 120, 2, 1, 90, 9900, 77, 10**9, 1, "extend: held up", "")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "cluster", "localhost", 4222)
    add_nodes(tmp_path / "cluster", ["lab-1", "lab-2", "gone"])
    remove_nodes(tmp_path / "cluster", ["gone"])
    (tmp_path / "state").mkdir()
    with closing(Pools(tmp_path / "state" / "pools.db", [STAGE])) as pools:
        pools.remember(nodes_fact(os.getpid(), [LAB]))
        for name in ("lab-1", "gone"):
            pools.custody.seen(name, "1", "{}")
        pools.discover(Found("extend", ["/c/en/dog"]))
        pools.advance((pools.lease(STAGE)[0], Done("finished", kept_at="gone")))
    return tmp_path


def test_each_is_told_of(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with only_instance(home / "state"):
        assert main(["cluster", "status"]) == 0
        rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
        assert rows["lab-1"] == "works: 3 of 8, 120 a minute; held: extend: held up"
        assert rows["lab-2"] == "never seen"
        assert rows["gone"].startswith("its key is refused; last seen ")
        assert rows["gone"].endswith("; alone has the files of 1")
        assert main(["cluster", "status", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    assert told["lab-1"]["now"]["failed_names"] == 2 and told["gone"]["owners"] == 1


def test_when_nothing_runs_nobody_works(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "status"]) == 0
    assert "works" not in capsys.readouterr().out
