"""The lines of a terminal that show how far it is."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.command import ROOT, clean_environment, harvest_flags, walk
from tests.support.worlds.conceptnet import World, hub
from tools.engine.job import Counted
from tools.engine.pools import Pools
from tools.network.client import Client
from tools.network.traffic import Traffic
from tools.reports.bars import Meter
from tools.reports.progress import Progress

SEED = "/c/en/hub"
LINES = hub(400)
KNOWN = len(walk(LINES, SEED)[0])
MOVES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\r\n]+")


class Screen:
    """main.py in a terminal of so many columns."""

    def __init__(self, columns: int, *arguments: object) -> None:
        self.text = ""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "main.py"), *map(str, arguments)],
            stdin=slave,
            stdout=subprocess.DEVNULL,
            stderr=slave,
            env=clean_environment(TERM="xterm"),
        )
        os.close(slave)

    def read_until(self, text: str) -> None:
        while text not in self.text:
            more = self._read()
            assert more, self.text
            self.text += more

    def lines(self) -> list[str]:
        """Everything it showed until it ended."""
        while more := self._read():
            self.text += more
        assert self.process.wait(30) == 0, self.text
        os.close(self.master)
        return [line for line in MOVES.split(self.text) if line.strip()]

    def _read(self) -> str:
        try:
            return os.read(self.master, 65536).decode(errors="replace")
        except OSError:  # nobody holds the other end any more
            return ""


@pytest.fixture
def world() -> Iterator[World]:
    with World(LINES, latency=0.1) as world:
        yield world


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_no_line_is_too_long_and_no_word_is_cut(tmp_path: Path, world: World, columns: int) -> None:
    lines = Screen(columns, *harvest_flags(tmp_path, world.url, SEED)).lines()
    assert max(map(len, lines)) < columns
    ends = re.compile(r"(^fetch|^relations|\d| left|/s|/min| at work| written)\s*$")
    assert all(ends.search(line) for line in lines), lines
    assert any(re.search(rf" of {KNOWN}, \d+ s left", line) for line in lines), lines
    assert any(line.endswith("8 at work") for line in lines) or columns < 80
    assert re.search(
        rf"100%\|[^|]+\| {KNOWN} of {KNOWN}, \d\S+/s", lines[-2]
    ) and "?" not in "".join(lines)


def test_a_pause_is_shown_and_a_second_run_begins_with_what_it_knows(
    tmp_path: Path, world: World
) -> None:
    flags = harvest_flags(tmp_path, world.url, SEED)
    first = Screen(80, *flags)
    world.wait_for(60)
    first.process.send_signal(signal.SIGUSR1)
    first.read_until(", paused")
    first.process.send_signal(signal.SIGTERM)
    first.lines()
    second = Screen(80, *flags).lines()
    assert not any("?" in line or "paused" in line for line in second), second
    assert not any(" 0 of " in line for line in second), second
    assert f"{KNOWN} of {KNOWN}" in second[-2]


def test_lines_tell_of_a_pause_and_one_an_hour_is_for_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    counted = (Counted("relations", 3, "written"), Counted("media", 2, "kept"))
    client = cast(Client, SimpleNamespace(traffic=Traffic()))
    with closing(Pools(tmp_path / "pools.db", [])) as pools:
        progress = Progress(pools, [], lambda: counted, client, quiet=True, is_paused=lambda: True)
        progress()
        assert not caplog.records
        progress._line_due = progress._hour_due = 0.0
        progress()
    line = "progress paused finished=0 failed=0 relations=3 media=2 requests=0"
    assert [each.getMessage() for each in caplog.records] == [line, line]
    assert [each.name for each in caplog.records] == [
        "tools.reports.progress",
        "tools.base.log.file_only",
    ]


def test_a_rate_is_that_of_the_last_moments() -> None:
    meter = Meter(0.0, 1000)
    assert meter.rate(0.0, 1000, is_resting=False) is None
    assert meter.rate(10.0, 1100, is_resting=False) == 10
    for second in range(11, 100):
        rate = meter.rate(float(second), 1100 + 2 * (second - 10), is_resting=False)
    assert rate == pytest.approx(2)


def test_what_is_done_shows_how_fast_it_went_for_ever() -> None:
    meter = Meter(0.0, 0)
    for second in range(1, 11):
        meter.rate(float(second), 5 * second, is_resting=False)
    for second in (10, 11, 60, 3600):
        assert meter.rate(float(second), 50, is_resting=True) == 5
