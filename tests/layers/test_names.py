"""What a user's class imports, in a clone and installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment

NAMES = """
from sheaf.layers import Form, GiveUp, LayerOptions, Limits, Page, Refill, Request, RetryLater
from sheaf.layers import Row, Skipped, Task
import sheaf.layers, sheaf.layers.task, sheaf.tables.rows
assert Task is sheaf.layers.task.Task and Row is sheaf.tables.rows.Row
assert sorted(sheaf.layers.__all__) == sorted(
    "Form GiveUp LayerOptions Limits Page Refill Request RetryLater Row Skipped Task".split())
"""
CHEAP = """
import sys, sheaf.layers
heavy = {"lxml", "parsel", "jmespath", "sqlalchemy", "turbohtml"} & set(sys.modules)
assert not heavy, heavy
try:
    sheaf.layers.Pgae
except AttributeError:
    pass
else:
    raise AssertionError
"""


@pytest.mark.parametrize("text", [NAMES, CHEAP], ids=["names", "cheap"])
@pytest.mark.parametrize("kind", ["clone", "installed"])
def test_the_names_of_a_class(text: str, kind: str, tmp_path: Path) -> None:
    where = ROOT
    if kind == "installed":
        where = tmp_path / "site"
        shutil.copytree(
            ROOT / "tools", where / "sheaf", ignore=shutil.ignore_patterns("__pycache__")
        )
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=clean_environment() | {"PYTHONPATH": str(where)},
    )
    assert done.returncode == 0, done.stderr
