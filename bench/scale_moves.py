"""A start and some thousand moves of one large pools file, in a process of its own.

python -m bench.scale_moves FILE WISHES cold|warm FOUND...    (prints JSON)

Cold means that the system was told to forget the file; it keeps what somebody writes or has mapped,
so how much of it was in memory then is said. Moves stay cold because what they ask for is spread
over the whole index: only its upper levels come into memory, by tasks before the measured ones.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from bench.pools import forget, peak_memory
from bench.scale_state import STAGE, STAGES
from tools.engine import rows
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found
from tools.journal import snapshots
from tools.journal.schema import check_state, count_pools

TASKS = 4000  # are measured, after as many that are not
TOGETHER = 8  # tasks that come home in one move, as a busy committer brings them
LONGEST_S = 60.0  # that moves of one kind are made
MEGABYTE = 1 << 20
PAGE = mmap.PAGESIZE


class Wishes(NamedTuple):
    """What tasks are to find."""

    known: list[str]
    new: list[str]


class Meter(NamedTuple):
    """What this process has used so far: seconds, and bytes of the disk."""

    wall: float
    cpu: float
    read: int
    written: int

    @classmethod
    def now(cls) -> Meter:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        io = {name: int(value) for name, value in (line.split(": ") for line in lines)}
        return cls(time.perf_counter(), time.process_time(), io["read_bytes"], io["write_bytes"])

    def since(self, begun: Meter, tasks: int = 1) -> dict[str, float]:
        spent = [(now - before) / tasks for now, before in zip(self, begun, strict=True)]
        return dict(zip(self._fields, spent, strict=True))


class Watched:
    """A part of the start, with the seconds it took."""

    def __init__(self, part: Callable[..., Any]) -> None:
        self.seconds = 0.0
        self._part = part

    def __call__(self, *arguments: object) -> Any:
        begun = time.perf_counter()
        try:
            return self._part(*arguments)
        finally:
            self.seconds += time.perf_counter() - begun


def measured(path: Path, wishes: Path, is_cold: bool, founds: Sequence[int]) -> dict[str, object]:
    told: dict[str, object] = {}
    resident = prepare(path, is_cold)
    check, count = Watched(check_state), Watched(count_pools)
    patch.object(snapshots, "check_state", check).start()
    patch.object(rows, "count_pools", count).start()
    begun = Meter.now()
    with closing(Pools(path, STAGES)) as pools:
        opened = time.perf_counter()
        (task,) = pools.lease(STAGE)
        ended = Meter.now()
        told["opening"] = ended.since(begun) | {
            "check": check.seconds,
            "count": count.seconds,
            "lease": ended.wall - opened,
            "peak": peak_memory(),
            "resident": resident,
        }
        pools.advance((task, Done("finished")))
        known, new = read_wishes(wishes, is_cold)
        for found in founds:
            resident = prepare(path, is_cold)
            told[str(found)] = time_moves(pools, found, known, new) | {"resident": resident}
    return told


def read_wishes(path: Path, is_cold: bool) -> Iterator[Iterator[str]]:
    """Every second one: the others are for the other process."""
    wishes = Wishes(**json.loads(path.read_text(encoding="utf-8")))
    return (iter(each[is_cold::2]) for each in wishes)


def time_moves(
    pools: Pools, found: int, known: Iterator[str], new: Iterator[str]
) -> dict[str, float]:
    """A second time as many tasks, when the first have brought the upper levels into memory."""
    for _ in range(2):
        begun, tasks, until = Meter.now(), 0, time.monotonic() + LONGEST_S / 2
        while tasks < TASKS and time.monotonic() < until:
            leased = pools.lease(STAGE, TOGETHER)
            pools.advance(*((task, done(found, known, new)) for task in leased))
            tasks += len(leased)
        spent = Meter.now().since(begun, tasks)
    return spent | {"tasks": tasks, "reads": spent["read"] / PAGE}


def done(found: int, known: Iterator[str], new: Iterator[str]) -> Done:
    fresh = found // 5
    uris = [*islice(known, found - fresh), *islice(new, fresh)]
    return Done("finished", [Found(STAGE.name, uris)])


# --- the system's memory -------------------------------------------------------------------


def prepare(path: Path, is_cold: bool) -> float:
    """Let the system forget the file, or read all of it; which share is in memory then."""
    if is_cold:
        forget(path)
    else:
        with path.open("rb", buffering=0) as file:
            while file.read(MEGABYTE):
                pass
    return resident_share(path)


def resident_share(path: Path) -> float:
    size = path.stat().st_size
    pages = -(-size // PAGE)
    seen = ctypes.create_string_buffer(pages)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as view:
        start = ctypes.addressof(here := ctypes.c_char.from_buffer(view))
        code = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(start), ctypes.c_size_t(size), seen
        )
        del here  # else the map cannot be closed
    if code:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(each & 1 for each in seen.raw) / pages


def main(arguments: Sequence[str]) -> None:
    path, wishes, state, *founds = arguments
    numbers = [int(each) for each in founds]
    print(json.dumps(measured(Path(path), Path(wishes), state == "cold", numbers)))


if __name__ == "__main__":
    main(sys.argv[1:])
