"""What failed beside others is run once more, alone; what fails again, or with many, fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment

TEST = "def test_it():\n    assert {holds}\n"


def again(folder: Path, holds: bool, names: list[str]) -> subprocess.CompletedProcess[str]:
    """In a project of its own, where these are known to have failed."""
    for each in ("scripts", ".venv/bin", ".pytest_cache/v/cache", "tests"):
        (folder / each).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "test-again", folder / "scripts")
    (folder / ".venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / ".venv/bin/python").chmod(0o755)
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    (folder / "tests/test_one.py").write_text(TEST.format(holds=holds))
    cache = folder / ".pytest_cache/v/cache/lastfailed"
    cache.write_text(json.dumps(dict.fromkeys(names, True)))
    return subprocess.run(
        [folder / "scripts" / "test-again"],
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(),
    )


ONE = "tests/test_one.py::test_it"


@pytest.mark.parametrize("holds", [True, False])
def test_what_fails_again_fails_and_what_passes_is_named(tmp_path: Path, holds: bool) -> None:
    done = again(tmp_path, holds, [ONE])
    assert done.returncode == (0 if holds else 1), done.stdout + done.stderr
    assert (f"FLAKY, to be mended: {ONE}" in done.stdout) is holds
    assert f"1 {'passed' if holds else 'failed'}" in done.stdout


def test_many_are_no_chance(tmp_path: Path) -> None:
    done = again(tmp_path, True, [f"{ONE}[{number}]" for number in range(6)])
    assert done.returncode == 1 and "6 tests failed, which is no chance" in done.stdout
