"""How much of the machine others used while something was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tools.base.resident import descendants

QUIET = 0.15  # cores
KERNEL = "2"  # the parent of its threads, which write to the disk for whoever wants it
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Others:
    """From when this is made: neither this process, nor what it has started, nor the kernel."""

    def __init__(self) -> None:
        self._begun, self._foreign = time.perf_counter(), foreign()

    def cores(self) -> float:
        return max(0.0, (foreign() - self._foreign) / (time.perf_counter() - self._begun))


def foreign() -> float:
    """Seconds of the processors, since the machine was started."""
    user, nice, system, _idle, _waiting, *rest = map(int, first_line("/proc/stat").split()[1:9])
    return (user + nice + system + sum(rest)) * TICK_S - sum(os.times()[:4]) - of_helpers()


def of_helpers() -> float:
    """What our living processes and the kernel's have used."""
    return seconds_of(descendants(os.getpid())) + seconds_of(kernel_threads())


def kernel_threads() -> Iterable[int]:
    text = "".join(each.read_text() for each in Path(f"/proc/{KERNEL}/task").glob("*/children"))
    return map(int, text.split())


def seconds_of(pids: Iterable[int]) -> float:
    """Of the processor, by those that are alive."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            ticks += sum(
                map(int, first_line(f"/proc/{pid}/stat").rpartition(")")[2].split()[11:13])
            )
    return ticks * TICK_S


def first_line(path: str) -> str:
    with Path(path).open() as file:
        return file.readline()
