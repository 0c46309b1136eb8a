"""One pools file up to a hundred million URIs: what a start and a move cost, cold and warm.

python -m bench.scale [--uris N] [--minutes M] [--gigabytes G] [--folder F] [--write]
python -m bench.scale_moves FILE FOUND    (one process that is measured)

It stops growing where a bound is reached, and says how far it came.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.quiet import Others
from bench.report import Row, Say, say, surroundings, table, write_results
from bench.scale_moves import TASKS, Wishes
from bench.scale_state import Bounds, grow, sample, strangers

ROOT = Path(__file__).resolve().parent.parent
URIS = 100_000_000
MINUTES = 20.0
GIGABYTES = 40.0
FOUND = (5, 10)
SCATTERED = 20  # times smaller is a file that is grown in no order
GROWING = 0.6  # of the time at most; the rest is for measuring
LONGEST_RUN_S = 1200


class Plan(NamedTuple):
    uris: int = URIS
    minutes: float = MINUTES
    gigabytes: float = GIGABYTES
    folder: Path | None = None

    def sizes(self) -> list[int]:
        """Powers of ten from a million on, the last one as large as is wanted."""
        smaller = [10**power for power in range(6, 12) if 10**power < self.uris]
        return [*smaller, self.uris]


def measure(scale: float, say: Say) -> Iterator[Row]:
    return measure_plan(Plan(uris=round(URIS * scale), minutes=MINUTES * scale), say)


def measure_plan(plan: Plan, say: Say) -> Iterator[Row]:
    begun, others = time.monotonic(), Others()
    until = begun + plan.minutes * 60
    bounds = Bounds(begun + plan.minutes * 60 * GROWING, round(plan.gigabytes * 1e9))
    with TemporaryDirectory(prefix="bench-scale-", dir=plan.folder) as name:
        path = Path(name) / "pools.db"
        for size in plan.sizes():
            say(f"scale: growing to {size:,} URIs")
            reached = grow(path, size, bounds)
            yield from measure_size(path, f"{reached:,} URIs", say)
            if reached < 0.99 * size or time.monotonic() > until:
                say(f"scale: a bound is reached at {reached:,} of {plan.uris:,}")
                break
        path.unlink()
        yield from measure_scattered(path, plan, say)
    yield Row("cores that others used meanwhile", [others.cores()])


def measure_scattered(path: Path, plan: Plan, say: Say) -> Iterator[Row]:
    """A smaller one whose index lies on the disk as that of a walk does."""
    size = plan.uris // SCATTERED
    say(f"scale: growing to {size:,} URIs, scattered")
    until = time.monotonic() + plan.minutes * 60 * (1 - GROWING)
    reached = grow(path, size, Bounds(until, round(plan.gigabytes * 1e9)), is_scattered=True)
    yield from measure_size(path, f"{reached:,} URIs, scattered", say)


def measure_size(path: Path, what: str, say: Say) -> Iterator[Row]:
    yield Row(f"{what}: size of the file", [path.stat().st_size / 1e6], " MB", 0)
    wishes = write_wishes(path, random.Random(what))
    for state in ("cold", "warm"):
        say(f"scale: {what}, {state}")
        told = run_child(path, wishes, state)
        yield from opening_rows(f"{what}, {state}", told["opening"])
        for found in FOUND:
            yield from moves_rows(f"{what}, {state}, {found} found", told[str(found)])
    wishes.unlink()


def write_wishes(path: Path, chance: random.Random) -> Path:
    """What each task finds, chosen before anything is measured."""
    number = 2 * 2 * TASKS * sum(FOUND)  # cold and warm, and as many before the measured ones
    wishes = Wishes(sample(path, number, chance), strangers(number, chance))
    file = path.with_name("wishes.json")
    file.write_text(json.dumps(wishes._asdict()), encoding="utf-8")
    return file


def run_child(path: Path, wishes: Path, state: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.scale_moves", str(path), str(wishes), state]
    done = subprocess.run(
        [*command, *map(str, FOUND)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONGEST_RUN_S,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def opening_rows(what: str, told: dict[str, float]) -> Iterator[Row]:
    ours = (
        f"quick_check {told['check']:.1f} s, counting {told['count']:.1f} s, "
        f"first lease {told['lease']:.1f} s; {told['cpu']:.1f} s of CPU"
    )
    peer = f"{told['read'] / 1e9:.2f} GB read; {told['resident']:.0%} of the file in memory before"
    yield Row(f"{what}: start to the first lease", [told["wall"]], " s", 1, None, ours, peer)
    yield Row(f"{what}: peak memory at the first lease", [told["peak"] / 2**20], " MiB", 0)


def moves_rows(what: str, told: dict[str, float]) -> Iterator[Row]:
    ours = f"{told['cpu'] * 1e6:.0f} µs of CPU, {told['tasks']:,} tasks"
    peer = (
        f"{told['reads']:.1f} reads of the disk ({told['read'] / 1e3:.0f} KB), "
        f"{told['written'] / 1e3:.0f} KB written; {told['resident']:.0%} in memory before"
    )
    yield Row(f"{what}: tasks a second", [1 / told["wall"]], "", 0, None, ours, peer)


def main(arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder goes
    parser = argparse.ArgumentParser(prog="python -m bench.scale")
    parser.add_argument("--uris", type=int, default=URIS)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--gigabytes", type=float, default=GIGABYTES)
    parser.add_argument("--folder", type=Path, help="where there is room; else the temporary one")
    parser.add_argument("--write", action="store_true", help="rewrite bench/RESULTS.md")
    given = parser.parse_args(arguments)
    plan = Plan(given.uris, given.minutes, given.gigabytes, given.folder)
    rows = []
    for row in measure_plan(plan, say):
        say("  " + "  ".join(cell for cell in row.cells() if cell))
        rows.append(row)
    print(f"{surroundings(False)}\n\n{table(rows)}")
    if given.write:
        write_results({"scale": table(rows)}, False)


if __name__ == "__main__":
    main(sys.argv[1:])
