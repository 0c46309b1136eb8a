"""Several coordinators by hash that exchange what they find, killed at random, beside one.

python -m bench.shards [--uris N] [--shards S] [--kills K] [--degree D] [--seed X] [--folder F]

Each is a process with a pools file of its own. At the end every URI must be in `finished` exactly
once over all of them, as it is in that of the one.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import orjson

from bench.report import Row, Say, say, surroundings, table, write_results
from bench.shards_process import ask, socket_of
from bench.shards_world import World, number_of
from tools.base.sqlite import reading
from tools.journal.schema import FINISHED

ROOT = Path(__file__).resolve().parent.parent
URIS = 1_000_000
SHARDS = 4
DEGREE = 10
KILLS = 20
LONGEST_WALK_S = 3600.0
LOOK_S = 0.02  # between two looks at the shards
ROUNDS = 2  # in which all must be idle, and the same


class Walk(NamedTuple):
    """What became of one: `seen` says for each number how often it is in `finished`."""

    seen: bytes
    tally: Counter[str]
    wall: float
    cpu: float
    kills: int

    def is_whole(self) -> bool:
        return self.seen == bytes([1]) * len(self.seen)


class Family:
    """The processes of one walk."""

    def __init__(self, folder: Path, world: World) -> None:
        self.folder, self.world = folder, world
        self._processes = [self._started(number) for number in range(world.shards)]

    def states(self) -> list[dict[str, Any]] | None:
        """None if one of them is on its way back."""
        self._see_that_they_live()
        try:
            numbers = range(self.world.shards)
            return [ask(socket_of(self.folder, each), {"state": True}) for each in numbers]
        except (OSError, ValueError):
            return None

    def kill(self, number: int) -> None:
        """And start it again."""
        self._processes[number].kill()
        self._processes[number].wait()
        self._processes[number] = self._started(number)

    def stop(self) -> None:
        for number in range(self.world.shards):
            ask(socket_of(self.folder, number), {"stop": True})
        if any(process.wait(60) for process in self._processes):
            raise RuntimeError("a shard did not end well")

    def end(self) -> None:
        """Whatever is left."""
        for process in self._processes:
            process.kill()
            process.wait()

    def _started(self, number: int) -> subprocess.Popen[bytes]:
        words = [self.folder, number, *self.world, os.getpid()]
        command = [sys.executable, "-m", "bench.shards_process", *map(str, words)]
        return subprocess.Popen(command, cwd=ROOT)

    def _see_that_they_live(self) -> None:
        if any(process.poll() is not None for process in self._processes):
            raise RuntimeError("a shard has ended by itself")


def walk(
    folder: Path,
    world: World,
    kills: int,
    chance: random.Random,
    longest_s: float = LONGEST_WALK_S,
) -> Walk:
    """From the first URI to the end; when so much is done, one that is drawn is killed."""
    begun, spent = time.monotonic(), children_cpu()
    due = sorted(chance.randrange(world.uris) for _ in range(kills))
    family = Family(folder, world)
    try:
        until_over(family, due, chance, begun + longest_s)
        wall = time.monotonic() - begun
        family.stop()
    finally:
        family.end()
    seen, tally = gather(folder, world)
    return Walk(seen, tally, wall, children_cpu() - spent, kills - len(due))


def until_over(family: Family, due: list[int], chance: random.Random, until: float) -> None:
    """Over when all are idle, with nothing to send, in two looks between which none has moved: then
    there was a moment at which all of them were."""
    last, rounds = None, 0
    while rounds < ROUNDS:
        if time.monotonic() > until:
            raise TimeoutError("the walk does not end")
        states = family.states()
        is_idle = states is not None and all(each["idle"] for each in states)
        rounds = (rounds + 1 if states == last else 1) if is_idle else 0
        last = states
        if states and due and sum(each["done"] for each in states) > due[0]:
            due.pop(0)
            family.kill(chance.randrange(family.world.shards))
        time.sleep(LOOK_S)


def gather(folder: Path, world: World) -> tuple[bytes, Counter[str]]:
    seen, tally = bytearray(world.uris), Counter[str]()
    for shard in range(world.shards):
        with closing(reading(folder / f"{shard}.db")) as db:
            for (uri,) in db.execute("SELECT uri FROM uri WHERE pool = ?", (FINISHED,)):
                seen[number_of(uri)] += 1
            tally.update(tally_of(db))
    return bytes(seen), tally


def tally_of(db: sqlite3.Connection) -> dict[str, int]:
    (text,) = db.execute("SELECT counts FROM tally").fetchone()
    counts: dict[str, int] = orjson.loads(text)
    return counts


def children_cpu() -> float:
    """Of all that have ended, the killed ones too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- the measurement -----------------------------------------------------------------------


class Plan(NamedTuple):
    uris: int = URIS
    shards: int = SHARDS
    degree: int = DEGREE
    kills: int = KILLS
    seed: int = 1
    folder: Path | None = None


def measure(scale: float, say: Say) -> Iterator[Row]:
    return measure_plan(Plan(uris=round(URIS * scale)), say)


def measure_plan(plan: Plan, say: Say) -> Iterator[Row]:
    one = walked(plan, 1, 0, say)
    calm = walked(plan, plan.shards, 0, say)
    killed = walked(plan, plan.shards, plan.kills, say)
    yield from rows_of("one coordinator", one, one)
    yield from rows_of(f"{plan.shards} shards", calm, one)
    yield from rows_of(f"{plan.shards} shards, {killed.kills} of them killed", killed, one)


def walked(plan: Plan, shards: int, kills: int, say: Say) -> Walk:
    say(f"shards: {plan.uris:,} URIs, {shards} shards, {kills} kills")
    with TemporaryDirectory(prefix="bench-shards-", dir=plan.folder) as name:
        world = World(plan.uris, plan.degree, shards)
        found = walk(Path(name), world, kills, random.Random(plan.seed))
    if not found.is_whole():
        raise RuntimeError(f"{shards} shards, {kills} kills: the walk is not whole")
    return found


def rows_of(what: str, each: Walk, one: Walk) -> Iterator[Row]:
    number = len(each.seen)
    finished = f"{sum(each.seen):,} of {number:,} finished once"
    same = "the same URIs as the one" if each.seen == one.seen else "OTHER URIs than the one"
    yield Row(f"{what}: tasks a second", [number / each.wall], "", 0, None, finished, same)
    yield Row(f"{what}: CPU of a task, all processes", [each.cpu / number * 1e6], " µs", 0)
    if each.tally["sent"]:
        known = each.tally["received"] - each.tally["received_new"]
        ours = f"{each.tally['sent'] / number:.2f} URIs sent a task, {known:,} known there"
        peer = f"{each.tally['repeated']:,} tasks repeated"
        size = each.tally["sent bytes"] / number
        yield Row(f"{what}: exchanged for a task", [size], " B", 0, None, ours, peer)


def main(arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the shards end, too
    parser = argparse.ArgumentParser(prog="python -m bench.shards")
    for name, value in Plan()._asdict().items():
        if name != "folder":
            parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", action="store_true", help="rewrite bench/RESULTS.md")
    given = vars(parser.parse_args(arguments))
    is_written = given.pop("write")
    rows = list(measure_plan(Plan(**given), say))
    print(f"{surroundings(False)}\n\n{table(rows)}")
    if is_written:
        write_results({"shards": table(rows)}, False)


if __name__ == "__main__":
    main(sys.argv[1:])
