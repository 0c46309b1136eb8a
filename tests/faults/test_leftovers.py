"""What a killed run of the tests left behind is no fault of the next run."""

from __future__ import annotations

import subprocess
import sys
from getpass import getuser
from pathlib import Path

from tests.faults.injection import small_disk
from tests.support.command import ROOT, clean_environment


def test_a_disk_that_is_still_mounted_fails_no_later_run(tmp_path: Path) -> None:
    """pytest clears the folders of runs long ago away, and warns of what it cannot clear away."""
    runs = tmp_path / f"pytest-of-{getuser()}"
    for number in range(3):
        (runs / f"pytest-{number}").mkdir(parents=True, mode=0o700)
    test = tmp_path / "test_one.py"
    test.write_text("def test_it(tmp_path): pass\n")
    settings = ("-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, "-p", "no:cacheprovider")
    with small_disk(runs / "pytest-0" / "disk", "1m"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *settings, test],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env=clean_environment() | {"TMPDIR": str(tmp_path)},
        )
        (moved,) = (disk.parent for disk in runs.glob("*/disk"))
        moved.rename(runs / "pytest-0")  # where it is unmounted
        assert moved.name.startswith("garbage-")  # it was tried
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1 passed" in done.stdout
