"""State files of the second format, as the versions before wrote them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE pool (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE uri (
    id INTEGER PRIMARY KEY,
    uri TEXT NOT NULL UNIQUE,
    pool INTEGER NOT NULL REFERENCES pool,
    rank INTEGER,
    depth INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    reason TEXT,
    failed_in INTEGER REFERENCES pool
) STRICT;
CREATE INDEX ranked ON uri (pool, rank, id) WHERE rank IS NOT NULL AND pool > 1;
CREATE INDEX delayed ON uri (pool, not_before) WHERE not_before > 0;
CREATE INDEX failures ON uri (reason) WHERE pool = 1;
CREATE TABLE lease (id INTEGER PRIMARY KEY REFERENCES uri, stage TEXT NOT NULL) STRICT;
CREATE TABLE tally (counts TEXT NOT NULL) STRICT;
INSERT INTO pool (id, name) VALUES (0, 'finished'), (1, 'failed');
INSERT INTO tally VALUES ('{}');
CREATE TABLE sample (
    run INTEGER NOT NULL,
    elapsed REAL NOT NULL,
    time REAL NOT NULL,
    counts TEXT NOT NULL,
    requests INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (run, elapsed)
) WITHOUT ROWID, STRICT;
CREATE TABLE host (
    name TEXT PRIMARY KEY, requests INTEGER NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE chore (
    name TEXT PRIMARY KEY, done_at REAL, done TEXT, failed_at REAL, failure TEXT
) WITHOUT ROWID, STRICT;
PRAGMA user_version = 2;
"""
Row = tuple[str, str, int | None, int]  # uri, pool, rank, depth


def make_second(path: Path, rows: Iterable[Row], leased: Iterable[str] = ()) -> Path:
    """In WAL mode, with a tally; `leased` were at work when their process died."""
    path.parent.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(SCHEMA)
        for uri, pool, rank, depth in rows:
            db.execute("INSERT OR IGNORE INTO pool (name) VALUES (?)", (pool,))
            db.execute(
                "INSERT INTO uri (uri, pool, rank, depth) SELECT ?, id, ?, ? FROM pool "
                "WHERE name = ?",
                (uri, rank, depth, pool),
            )
            counts[pool] = counts.get(pool, 0) + 1
        for uri in leased:
            db.execute("INSERT INTO lease SELECT id, 'fetch' FROM uri WHERE uri = ?", (uri,))
        db.execute("UPDATE tally SET counts = ?", (json.dumps(counts),))
    return path
