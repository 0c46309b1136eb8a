"""What it costs a harvest to be looked at: `history.py` in a loop beside it.

The harvest waits for its source most of the time, as real ones do; so what is measured is whether
readers make it wait, not how two programs share a processor. Each report must be of one moment.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import orjson

from bench.fetch import ROOT, Pace, Setting, check, environment, pages, server, timed
from bench.report import RUNS, Bar, Row, Say
from bench.server import SEED

WITHIN = Bar(">=", 0.95)


def measure(scale: float, say: Say) -> Iterator[Row]:
    setting = Setting("looked at", round(20_000 * scale), 50, 8, WITHIN)
    alone, beside, reports = [], [], 0
    with server(setting) as url:
        for number in range(1, RUNS + 1):
            say(f"history run {number}: alone")
            alone.append(harvest(url, setting)[0])
            say(f"history run {number}: history.py in a loop beside it")
            pace, count = harvest(url, setting, is_watched=True)
            beside.append(pace)
            reports += count
    ratios = [one.whole / other.whole for one, other in zip(beside, alone, strict=True)]
    what = f"{setting.title}: {reports:,} reports beside it / alone"
    yield Row(what, ratios, "", 3, setting.bar, pages(beside), pages(alone))


def harvest(url: str, setting: Setting, is_watched: bool = False) -> tuple[Pace, int]:
    """How fast it was, and how many reports were made meanwhile."""
    ended = Event()
    with TemporaryDirectory(prefix="bench-") as folder, ThreadPoolExecutor(1) as beside:
        flags = ["--source", url, "--seed", SEED, "--no-media", "--state", folder, "-q"]
        workers = ["--fetch-workers", str(setting.workers)]
        watching = beside.submit(watch, Path(folder), setting.concepts, ended, is_watched)
        try:
            command = [sys.executable, str(ROOT / "main.py"), *flags, *workers]
            pace = timed(url, setting.concepts, command)
        finally:
            ended.set()
        check(Path(folder), setting.concepts)
        return pace, watching.result(60)


def watch(state: Path, concepts: int, ended: Event, is_watched: bool) -> int:
    """One report after the other; what is finished never becomes less, what is known neither."""
    reports, known, finished = 0, 0, 0
    command = [sys.executable, str(ROOT / "history.py"), "--json", "--state", str(state)]
    while is_watched and not ended.is_set():
        if not (state / "pools.db").exists():
            ended.wait(0.01)
            continue
        done = subprocess.run(
            command, capture_output=True, timeout=60, env=environment(), cwd=state
        )
        if done.returncode:
            raise RuntimeError(f"history.py ended with {done.returncode}: {done.stderr.decode()}")
        pools = orjson.loads(done.stdout)["pools"]
        if not (known <= sum(pools.values()) <= concepts and finished <= pools["finished"]):
            raise RuntimeError(f"a mixed state: {pools} after {known} known, {finished} finished")
        if min(pools.values()) < 0 or pools["on_fetch"] > 8:
            raise RuntimeError(f"a mixed state: {pools}")
        known, finished, reports = sum(pools.values()), pools["finished"], reports + 1
    return reports
