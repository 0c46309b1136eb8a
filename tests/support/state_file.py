"""State files as a harvest writes them, made in a moment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from tools.journal.sample import Sample
from tools.journal.schema import create_state

POOLS = ("to_fetch", "on_fetch", "to_extend", "on_extend")
TALLY = {**dict.fromkeys(POOLS, 0), "finished": 0, "failed": 0, "done_fetch": 0, "done_extend": 0}


def write(path: Path, *statements: tuple[str, tuple[object, ...]]) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        for statement, values in statements:
            db.execute(statement, values)
    return path


def make(
    path: Path,
    uris: Mapping[str, str] | None = None,
    failures: Iterable[tuple[str, str | None]] = (),
    more: Mapping[str, int] | None = None,
    samples: Iterable[Sample] = (),
) -> Path:
    """A sound file: `uris` by pool, failures with their reasons, `more` in the tally."""
    path.parent.mkdir(parents=True, exist_ok=True)
    create_state(path)
    rows: list[tuple[str, str, str | None]]
    rows = [(uri, pool, None) for uri, pool in (uris or {}).items()]
    rows += [(uri, "failed", reason) for uri, reason in failures]
    counts = {**TALLY, **(more or {})}
    for _, pool, _ in rows:
        counts[pool] += 1
    insert = (
        "INSERT INTO uri (uri, pool, depth, attempts, reason) "
        "SELECT ?, id, 1, 3, ? FROM pool WHERE name = ?"
    )
    return write(
        path,
        *(("INSERT INTO pool (name) VALUES (?)", (name,)) for name in POOLS),
        *((insert, (uri, reason, pool)) for uri, pool, reason in rows),
        ("UPDATE tally SET counts = ?", (json.dumps(counts),)),
        *(("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)", stored(each)) for each in samples),
    )


def stored(sample: Sample) -> tuple[object, ...]:
    return (*sample[:3], json.dumps(sample.counts), *sample[4:])


def make_old(path: Path, **more: object) -> Path:
    """A file of the first format."""
    make(path, **more)  # type: ignore[arg-type]
    tables = ("sample", "host", "chore")
    return write(
        path,
        *((f"DROP TABLE {table}", ()) for table in tables),
        ("ALTER TABLE uri DROP COLUMN failed_in", ()),
        ("PRAGMA user_version = 1", ()),
    )


def minutes(
    number: int, run: int = 1, begun: float = 1e9, pace: int = 10, waiting: int = 1000
) -> list[Sample]:
    """A sample for each minute of a steady run."""
    return [
        Sample(
            run,
            60.0 * at,
            begun + 60 * at,
            TALLY
            | {
                "to_fetch": max(0, waiting - pace * at),
                "finished": pace * at,
                "done_fetch": pace * at,
                "media image commons": 3 * at,
                "media audio freesound": at,
            },
            20 * at,
            1_000_000 * at,
        )
        for at in range(number)
    ]
