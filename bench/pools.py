"""The pools with millions of URIs: a move, a resume, a snapshot under load, memory.

python -m bench.pools build FILE COUNT    (the state of the memory measurement)
python -m bench.pools open FILE ROUNDS    (prints its peak memory)
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import NamedTuple

from bench.report import RUNS, Bar, Row, Say
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage, Task
from tools.journal.schema import FINISHED

ROOT = Path(__file__).resolve().parent.parent
STAGE = Stage("fetch", workers=8)
STAGES = (STAGE, Stage("extend", workers=5))
BATCH = 100_000
FOUND = 5
THREADS = 8
TOGETHER = 8  # tasks that come home in one move, as a busy settler brings them
LONGEST_RUN_S = 3600


def measure(scale: float, say: Say) -> Iterator[Row]:
    with TemporaryDirectory(prefix="bench-") as name:
        folder, known = Path(name), round(1_000_000 * scale)
        say(f"pools: building a state of {known:,} URIs")
        base = folder / "base.db"
        build(base, known, chance_uris(random.Random(1)))
        yield from measure_moves(base, known, round(20_000 * scale), say)
        finish_half(base)
        yield from measure_resume(base, known, say)
        yield from measure_snapshot(base, known, say)
        base.unlink()
        yield from measure_memory(folder / "large.db", round(10_000_000 * scale), say)


# --- a) moves ------------------------------------------------------------------------------


def measure_moves(base: Path, known: int, rounds: int, say: Say) -> Iterator[Row]:
    what = f"a) {known:,} wait: lease + advance with {FOUND} new URIs"
    for at_once, bar, where in ((1, 200, what), (TOGETHER, 120, f"{what}, {TOGETHER} at once")):
        means, longest, spent = [], [], []
        for number in range(1, RUNS + 1):
            say(f"pools a) {rounds:,} moves, {at_once} at once, run {number}")
            with copied(base) as path, closing(Pools(path, STAGES)) as pools:
                cost = time_moves(pools, rounds, at_once)
            means.append(cost.mean * 1e6)
            longest.append(cost.longest * 1e3)
            spent.append(cost.cpu * 1e6)
        yield Row(f"{where}, mean", means, " µs", 0, Bar("<", bar, " µs"))
        yield Row(f"{where}, CPU with the checkpointer's", spent, " µs", 0)
        yield Row(f"{where}, longest call", longest, " ms", 1)


class Cost(NamedTuple):
    """Seconds: of a move, and of the longest single call."""

    mean: float
    cpu: float
    longest: float


def time_moves(pools: Pools, rounds: int, at_once: int) -> Cost:
    uris = chance_uris(random.Random(2))
    found = [
        [Done("finished", [Found(STAGE.name, take(uris, FOUND))]) for _ in range(at_once)]
        for _ in range(rounds // at_once)
    ]
    gc.collect()
    gc.freeze()  # what is only here to be measured with is not the pools' burden
    total = longest = 0.0
    spent = time.process_time()
    for each in found:
        begun = time.perf_counter()
        tasks = pools.lease(STAGE, at_once)
        leased = time.perf_counter()
        pools.advance(*zip(tasks, each, strict=True))
        ended = time.perf_counter()
        total += ended - begun
        longest = max(longest, leased - begun, ended - leased)
    spent = time.process_time() - spent
    gc.unfreeze()
    moves = len(found) * at_once
    return Cost(total / moves, spent / moves, longest)


# --- b) resume -----------------------------------------------------------------------------


def measure_resume(base: Path, known: int, say: Say) -> Iterator[Row]:
    warm, cold = [], []
    for number in range(1, RUNS + 1):
        say(f"pools b) resume, run {number}")
        with copied(base) as path:
            warm.append(time_resume(path))
        with copied(base) as path:
            forget(path)
            cold.append(time_resume(path))
    what = f"b) resume with {known:,} known, half finished, to the first lease"
    yield Row(what, warm, " s", 2, Bar("<", 3, " s"))
    yield Row(f"{what}, file not in memory", cold, " s", 2)


def time_resume(path: Path) -> float:
    begun = time.perf_counter()
    with closing(Pools(path, STAGES)) as pools:
        lease(pools)
        return time.perf_counter() - begun


def forget(path: Path) -> None:
    """Let the system drop its copy of the file, as if it had been started since."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# --- c) snapshot ---------------------------------------------------------------------------


class Load(NamedTuple):
    seconds: float
    longest: float
    calls: int


def measure_snapshot(base: Path, known: int, say: Say) -> Iterator[Row]:
    calm, during = [], []
    for number in range(1, RUNS + 1):
        say(f"pools c) snapshot beside {THREADS} threads, run {number}")
        with copied(base) as path:
            during.append(under_load(path, lambda pools: pools.snapshot(24)))
        with copied(base) as path:
            calm.append(under_load(path, partial(pause, during[-1].seconds)))
    what = f"c) snapshot of {known:,} while {THREADS} threads move"
    yield Row(
        f"{what}: longest call",
        [load.longest * 1e3 for load in during],
        " ms",
        1,
        Bar("<", 100, " ms"),
        f"{sum(load.calls for load in during):,} calls in all",
        f"{max(load.longest for load in calm) * 1e3:.1f} ms at most without a snapshot",
    )
    yield Row(f"{what}: its duration", [load.seconds for load in during], " s", 2)


def pause(seconds: float, _pools: Pools) -> None:
    time.sleep(seconds)


def under_load(path: Path, act: Callable[[Pools], object]) -> Load:
    with closing(Pools(path, STAGES)) as pools:
        stop = Event()
        movers = [Mover(pools, stop, number) for number in range(THREADS)]
        for mover in movers:
            mover.start()
        try:
            begun = time.perf_counter()
            act(pools)
            seconds = time.perf_counter() - begun
        finally:
            stop.set()
            for mover in movers:
                mover.join()
    if failed := [mover.error for mover in movers if mover.error]:
        raise failed[0]
    calls = sum(mover.calls for mover in movers)
    return Load(seconds, max(mover.longest for mover in movers), calls)


class Mover(Thread):
    """Leases and advances without a pause and remembers the longest call."""

    def __init__(self, pools: Pools, stop: Event, number: int) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.calls = 0
        self.error: Exception | None = None
        self._pools, self._stop_asked = pools, stop
        self._uris = chance_uris(random.Random(100 + number))

    def run(self) -> None:
        try:
            while not self._stop_asked.is_set():
                self._move()
        except Exception as error:
            self.error = error

    def _move(self) -> None:
        found = [Found(STAGE.name, take(self._uris, FOUND))]
        begun = time.perf_counter()
        task = lease(self._pools)
        leased = time.perf_counter()
        self._pools.advance((task, Done("finished", found)))
        ended = time.perf_counter()
        self.longest = max(self.longest, leased - begun, ended - leased)
        self.calls += 2


# --- d) memory -----------------------------------------------------------------------------


def measure_memory(path: Path, known: int, say: Say) -> Iterator[Row]:
    say(f"pools d) building a state of {known:,} URIs")
    in_process("build", path, known)
    peaks, seconds = [], []
    for number in range(1, RUNS + 1):
        say(f"pools d) {10_000:,} moves, run {number}")
        report = json.loads(in_process("open", path, 10_000))
        peaks.append(report["peak_bytes"] / 2**20)
        seconds.append(report["seconds_to_first_lease"])
    what = f"d) {known:,} known"
    yield Row(f"{what}: peak memory of a process", peaks, " MiB", 0, Bar("<", 1024, " MiB"))
    yield Row(f"{what}: resume to the first lease", seconds, " s", 1)
    yield Row(f"{what}: size of the file", [path.stat().st_size / 2**20], " MiB", 0)


def in_process(task: str, path: Path, number: int) -> str:
    command = [sys.executable, "-m", "bench.pools", task, str(path), str(number)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_RUN_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"pools {task} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def open_and_move(path: Path, rounds: int) -> dict[str, float]:
    begun = time.perf_counter()
    uris = chance_uris(random.Random())  # others than those of the run before
    with closing(Pools(path, STAGES)) as pools:
        task = lease(pools)
        seconds = time.perf_counter() - begun
        for _ in range(rounds):
            found = [Found(STAGE.name, take(uris, FOUND))]
            pools.advance((task, Done("finished", found)))
            task = lease(pools)
        return {"peak_bytes": peak_memory(), "seconds_to_first_lease": seconds}


def peak_memory() -> int:
    """Bytes. getrusage alone would count what the parent had when it started this process."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        (line,) = [line for line in lines if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


# --- states --------------------------------------------------------------------------------


def build(path: Path, count: int, uris: Iterator[str]) -> None:
    with closing(Pools(path, STAGES)) as pools:
        left = count
        while left > 0:
            left -= pools.discover(Found(STAGE.name, take(uris, min(BATCH, left))))


def finish_half(path: Path) -> None:
    """The older half; the next start counts anew."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE uri SET pool = ? WHERE id <= (SELECT max(id) / 2 FROM uri)", (FINISHED,))
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def chance_uris(chance: random.Random) -> Iterator[str]:
    """In no order, like the concepts of a walk: every insert lands somewhere else."""
    while True:
        yield f"/c/en/{chance.getrandbits(64):016x}"


def batched_uris(chance: random.Random) -> Iterator[str]:
    """Each batch in a place of its own, without order inside: ten million in minutes."""
    for batch in range(1 << 20):
        for _ in range(BATCH):
            yield f"/c/en/{batch:05x}{chance.getrandbits(44):011x}"


def take(uris: Iterator[str], count: int) -> list[str]:
    return [next(uris) for _ in range(count)]


def lease(pools: Pools) -> Task:
    (task,) = pools.lease(STAGE)
    return task


@contextmanager
def copied(base: Path) -> Iterator[Path]:
    """A copy of a state in a folder of its own, gone afterwards."""
    with TemporaryDirectory(prefix="copy-", dir=base.parent) as folder:
        path = Path(shutil.copy(base, Path(folder) / "pools.db"))
        os.sync()  # else every wait for the disk is a wait for this copy
        yield path


def main(arguments: Sequence[str]) -> None:
    task, path, number = arguments
    if task == "build":
        build(Path(path), int(number), batched_uris(random.Random(3)))
    else:
        print(json.dumps(open_and_move(Path(path), int(number))))


if __name__ == "__main__":
    main(sys.argv[1:])
