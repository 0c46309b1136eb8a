"""What a process and its children cost: seconds of the processor, time, memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from bench.fetch import environment

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


def timed(command: Sequence[str], folder: Path, asked: Callable[[], int]) -> Spent:
    """With its children, as the system counts for whoever waits for it."""
    asked()
    surroundings = environment() | {"SHEAF_PAGES_DELAY_FACTOR": "0"}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    begun, errors = time.perf_counter(), folder / "errors"
    with errors.open("wb") as told:
        process = subprocess.Popen(
            command, cwd=folder, env=surroundings, stdout=subprocess.DEVNULL, stderr=told
        )
        end = Timer(LONGEST_RUN_S, process.kill)
        end.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            end.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begun
    if process.returncode not in (0, 8):  # 8 is wget's word for a link that leads nowhere
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {errors.read_text()}")
    return Spent(usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024, asked())
