"""In a clone `sheaf` is another name of `tools`, with one module behind both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment

SAME = """
import sys
from importlib import import_module, reload
first, second = sys.argv[1:]
modules = [import_module(first + end) for end in ("", ".add", ".graphs", ".graphs.open", ".errors")]
same = [import_module(second + end) for end in ("", ".add", ".graphs", ".graphs.open", ".errors")]
assert all(map(lambda one, other: one is other, modules, same)), (modules, same)
from sheaf.graphs.sqlite import SqliteGraph
from tools.graphs.sqlite import SqliteGraph as Same
assert SqliteGraph is Same and SqliteGraph.__module__ == "tools.graphs.sqlite"
import sheaf.graphs.sqlite, sheaf, tools
assert sheaf is tools and sheaf.graphs.sqlite is sys.modules["tools.graphs.sqlite"]
for name, module in list(sys.modules.items()):
    if name.split(".")[0] in ("sheaf", "tools"):
        real = "tools" + name[5:]
        assert (module.__name__, module.__spec__.name) == (real, real), (name, module.__spec__)
        assert sys.modules["sheaf" + name[5:]] is module if name.startswith("sheaf") else True
assert reload(sheaf.graphs.sqlite) is tools.graphs.sqlite
"""


def python(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(PYTHONPATH=str(ROOT)),
    )


@pytest.mark.parametrize("names", [("sheaf", "tools"), ("tools", "sheaf")])
def test_both_names_have_one_module_behind_them(names: tuple[str, str], tmp_path: Path) -> None:
    done = python("-c", SAME, *names, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_there_is_not_is_missing_by_the_name_that_was_asked_for(tmp_path: Path) -> None:
    done = python("-c", "import sheaf.graphs.nothing", cwd=tmp_path)
    assert "ModuleNotFoundError: No module named 'sheaf.graphs.nothing'" in done.stderr
    done = python("-c", "import sheaf.nothing.at_all", cwd=tmp_path)
    assert "ModuleNotFoundError: No module named 'sheaf.nothing'" in done.stderr


def test_a_module_that_is_broken_says_so_itself(tmp_path: Path) -> None:
    """And is not said to be missing."""
    broken = "import sys; sys.modules['orjson'] = None; import sheaf.graphs.sqlite"
    assert "import of orjson halted" in python("-c", broken, cwd=tmp_path).stderr


def test_what_runs_in_processes_of_its_own_finds_its_modules(tmp_path: Path) -> None:
    """Wherever it is started, whatever lies there, and by whichever name it was imported."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    code = (
        "from sheaf.sample.media import MediaServers\nwith MediaServers() as it: print(it.servers)"
    )
    done = python("-P", "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "'openverse': 'http://127.0.0.1:" in done.stdout
