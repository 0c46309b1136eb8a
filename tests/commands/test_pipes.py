"""Whoever reads what we print may have seen enough: that costs nobody his exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment, harvest_flags, pools_of
from tests.support.worlds.conceptnet import World, hub, line


def headed(lines: int, *arguments: object) -> tuple[int, str]:
    """As `python main.py ... 2>&1 | head -LINES`: the code of python, and what was read."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, ROOT / "main.py", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
        env=clean_environment(),
    ) as process:
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as output:
            read = "".join(output.readline() for _ in range(lines))
        try:
            return process.wait(timeout=60), read
        finally:
            process.kill()


@pytest.mark.parametrize("lines", [0, 3])
def test_an_error_ends_with_its_code_and_promptly(tmp_path: Path, lines: int) -> None:
    file = tmp_path / "text.csv"
    file.write_text("nonsense\n" * 2000)
    begun = time.monotonic()
    flags = ("--source", file, "--all", "--no-media", "--state", tmp_path / "state")
    code, _ = headed(lines, *flags)
    assert code == 2
    assert time.monotonic() - begun < 8
    assert pools_of(tmp_path / "state")["on_fetch"] == 0


def test_a_sentence_nobody_reads_has_its_code(tmp_path: Path) -> None:
    assert headed(0, "--seed", "/r/IsA", "--state", tmp_path)[0] == 2


@pytest.mark.parametrize(("seed", "code"), [("/c/en/a", 0), ("/c/en/nobody", 7)])
def test_a_summary_nobody_reads_changes_nothing(tmp_path: Path, seed: str, code: int) -> None:
    with World([line("/r/IsA", "/c/en/a", "/c/en/b")]) as world:
        assert headed(0, *harvest_flags(tmp_path, world.url, seed))[0] == code
    assert pools_of(tmp_path / "state")["on_fetch"] == 0


def test_a_harvest_whose_log_nobody_reads_goes_on(tmp_path: Path) -> None:
    """Every neighbour that is unknown is a line on stderr."""
    with World(hub(60)) as world:
        flags = harvest_flags(tmp_path, world.url, "/c/en/x,/c/en/y,/c/en/z,/c/en/hub")
        assert headed(1, *flags)[0] == 0
    pools = pools_of(tmp_path / "state")
    assert (pools["failed"], pools["on_fetch"], pools["to_fetch"]) == (3, 0, 0)
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN  # Python's own way
