"""What a page that is looked at costs the harvest it tells of: the sample, alone and watched.

Each round harvests a part of the sample twice, alone and with a page beside it that many visit,
in turns; what counts is the processor time of the harvest itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.report import Bar, Row, Say, shown
from bench.web_visitors import visitors

ROOT = Path(__file__).parents[1]
ROUNDS = 5
BAR = Bar("<", 1.03)


def harvest(folder: Path, *flags: str) -> subprocess.Popen[str]:
    words = [sys.executable, str(ROOT / "main.py"), "--sample", "--limit", "400", "-q", *flags]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)


def seconds_of(process: subprocess.Popen[str]) -> float:
    """Of the processor, until it ends; without those of its page."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "a harvest that did not end well does not count"
    return used.ru_utime + used.ru_stime


def is_at_work(process: subprocess.Popen[str]) -> bool:
    """Without taking note of its end: what it used is to be read from that."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def alone() -> float:
    with tempfile.TemporaryDirectory() as folder, harvest(Path(folder)) as process:
        return seconds_of(process)


def watched() -> float:
    """The page is a process that the harvest starts and ends, so what it used would count as the
    harvest's child: `wait4` counts only those it waited for, and so it is started beside it."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        process = stack.enter_context(harvest(Path(folder)))
        stack.callback(process.kill)  # it has ended, unless something else went wrong
        while not (Path(folder) / "state" / "pools.db").exists():
            assert process.poll() is None
        words = [sys.executable, str(ROOT / "main.py"), "serve", "--port", "0"]
        page = stack.enter_context(
            subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(page.terminate)
        assert page.stdout is not None
        there = visitors(page.stdout.readline().split()[-1], stack)
        assert is_at_work(process), "it ended before all of them were there"
        used = seconds_of(process)
        for each in there:
            each.check()
        return used


def measure(scale: float, say: Say) -> Iterator[Row]:
    """Rounds are few and short already: `scale` changes nothing."""
    used: dict[str, list[float]] = {"alone": [], "watched": []}
    for number in range(ROUNDS):
        say(f"round {number + 1} of {ROUNDS}")
        for each in (alone, watched) if number % 2 == 0 else (watched, alone):
            used[each.__name__].append(each())
    ratios = [w / a for w, a in zip(used["watched"], used["alone"], strict=True)]
    yield Row(
        "the harvest's CPU, watched and attacked / alone", ratios, digits=3, bar=BAR,
        ours=shown(used["watched"], 2, " s"), peer=shown(used["alone"], 2, " s"),
    )  # fmt: skip
