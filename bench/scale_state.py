"""A pools file of made-up URIs, a hundred million in minutes.

Half of the URIs are as long as ConceptNet's concepts, half as its assertions. They go in by
statements over a hundred thousand rows each, in the order of the index, so that no page of it is
read twice; each growth lies evenly between what was there, so that pages are as full as those of a
walk. But they lie in order on the disk, which those of a walk do not: a file that is grown
`scattered` shows what that costs, and takes five times as long.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orjson

from tools.engine.pools import Pools
from tools.engine.stage import Stage
from tools.journal.schema import FINISHED

STAGE = Stage("fetch", workers=8)
STAGES = (STAGE, Stage("extend", workers=5))
STRETCH = 100_000  # rows a statement
KEYS = 1 << 48
CACHE_KB = 1_000_000
ROOM_LEFT = 10_000_000_000  # bytes that others may need on the same disk
SHAPES = (
    "printf('/a/[/r/IsA/,/c/en/%012x/,/c/en/%06x/]', {key}, abs(random() % 16777216))",
    "printf('/c/en/%012x', {key})",
)
INSERT = """WITH RECURSIVE each_(i) AS
(SELECT ?1 UNION ALL SELECT i + 1 FROM each_ WHERE i < ?2 - 1)
INSERT OR IGNORE INTO uri (uri, pool, depth, moved)
SELECT {shape}, ?4, 5, iif(?4 = {finished}, 1.7e9 + i, NULL) FROM each_"""


class Bounds(NamedTuple):
    """Where growing stops."""

    until: float  # by time.monotonic
    largest: int  # bytes of the file

    def is_reached(self, path: Path) -> bool:
        is_large = path.stat().st_size >= self.largest
        is_full = shutil.disk_usage(path.parent).free < ROOM_LEFT
        return is_large or is_full or time.monotonic() >= self.until


def grow(path: Path, count: int, bounds: Bounds, is_scattered: bool = False) -> int:
    """Let this file have so many URIs, the older half finished; how many it has, if a bound is
    reached before."""
    if not path.exists():
        Pools(path, STAGES).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        _be_quick(db)
        (there,) = db.execute("SELECT coalesce(max(id), 0) FROM uri").fetchone()
        for more in _growths(there, count):
            for statement, values in _stretches(db, more, is_scattered):
                if bounds.is_reached(path):
                    break
                db.execute(statement, values)
        _finish_half(db)
        _tally(db)
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        (reached,) = db.execute("SELECT max(id) FROM uri").fetchone()
    return int(reached)


def sample(path: Path, count: int, chance: random.Random) -> list[str]:
    """URIs that are known, from everywhere in the file."""
    with closing(sqlite3.connect(path)) as db:
        (newest,) = db.execute("SELECT max(id) FROM uri").fetchone()
        ids = sorted(chance.randrange(1, newest + 1) for _ in range(count))
        found = [db.execute("SELECT uri FROM uri WHERE id = ?", (id_,)).fetchone() for id_ in ids]
    uris = [uri for (uri,) in found]
    chance.shuffle(uris)
    return uris


def strangers(count: int, chance: random.Random) -> list[str]:
    """URIs that nobody knows yet, whose places in the index are everywhere."""
    return [
        f"/c/en/{key:012x}_x"
        if chance.random() < 0.5
        else f"/a/[/r/IsA/,/c/en/{key:012x}/,/c/en/{chance.randrange(16777216):06x}/]"
        for key in (chance.randrange(KEYS) for _ in range(count))
    ]


def _be_quick(db: sqlite3.Connection) -> None:
    """Whoever is killed here leaves a file that nobody opens again."""
    db.execute("PRAGMA journal_mode = DELETE").fetchone()
    db.execute("PRAGMA journal_mode = OFF").fetchone()
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
    db.execute(f"PRAGMA cache_size = -{CACHE_KB}")


def _growths(there: int, count: int) -> Sequence[int]:
    """An index that grew in one go would have pages without room."""
    return (count // 2, count - count // 2) if not there else (count - there,)


def _stretches(
    db: sqlite3.Connection, more: int, is_scattered: bool
) -> Iterator[tuple[str, tuple[int, ...]]]:
    (waiting,) = db.execute("SELECT id FROM pool WHERE name = ?", (STAGE.waiting,)).fetchone()
    each = more // len(SHAPES)
    for shape in SHAPES:
        step = KEYS // max(1, each)
        somewhere, in_order = f"?3 * 0 + abs(random() % {KEYS})", f"i * ?3 + abs(random() % {step})"
        text = shape.format(key=somewhere if is_scattered else in_order)
        statement = INSERT.format(shape=text, finished=FINISHED)
        for first in range(0, each, STRETCH):
            yield statement, (first, min(first + STRETCH, each), step, waiting)


def _finish_half(db: sqlite3.Connection) -> None:
    db.execute(
        "UPDATE uri SET pool = ?1, moved = 1.7e9 + id "
        "WHERE id <= (SELECT max(id) / 2 FROM uri) AND pool != ?1",
        (FINISHED,),
    )


def _tally(db: sqlite3.Connection) -> None:
    """As the moves would have left it."""
    (newest,) = db.execute("SELECT max(id) FROM uri").fetchone()
    (tally,) = db.execute("SELECT counts FROM tally").fetchone()
    finished = newest // 2
    counts = {STAGE.waiting: newest - finished, "finished": finished, STAGE.done: finished}
    text = orjson.dumps(orjson.loads(tally) | counts).decode()
    db.execute("UPDATE tally SET counts = ?", (text,))
