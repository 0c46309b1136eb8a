"""What a process and its children cost: seconds of the processor, time, memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.fetch import environment
from bench.report import shown

USAGE = Path(__file__).with_name("usage.py")
LONGEST_RUN_S = 1800


class Spent(NamedTuple):
    """By one process and its children."""

    cpu: float
    wall: float
    mb: float
    pages: int

    @property
    def pace(self) -> float:
        return self.pages / self.cpu


def told(spent: Sequence[Spent]) -> str:
    cpu, wall = shown([each.cpu for each in spent], 1, " s"), median(each.wall for each in spent)
    pace, mb = median(each.pace for each in spent), median(each.mb for each in spent)
    return f"{cpu}, {pace:,.0f} pages/s of CPU, {wall:.1f} s in all, {mb:.0f} MB"


def timed(command: Sequence[str], folder: Path, asked: Callable[[], int]) -> Spent:
    """With its children, as the system counts for whoever waits for it."""
    asked()
    surroundings = environment() | {"SHEAF_PAGES_DELAY_FACTOR": "0"}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", str(USAGE), *command],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN_S,
    )
    seconds = time.perf_counter() - begun
    if done.returncode not in (0, 8):  # 8 is wget's word for a link that leads nowhere
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    spent = json.loads(done.stdout.splitlines()[-1])
    return Spent(spent["cpu"], seconds, spent["mb"], asked())
