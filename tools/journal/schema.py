"""The file behind the pools: its tables, making and checking it.

Promise: a file appears whole or not at all; checking one changes nothing; a damaged one is refused.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ..base.files import whole_file
from ..base.sqlite import writing
from ..errors import StateDamaged

FORMAT = 3
READABLE = (2, FORMAT)  # an older one is brought along when a harvest opens it
CACHE_KB = 4096  # the system caches the file; a large cache of our own measured slower
FINISHED, FAILED = 0, 1  # fixed ids, because the partial indexes name them

SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE pool (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE uri (
    id INTEGER PRIMARY KEY,             -- order of discovery
    uri TEXT NOT NULL UNIQUE,
    pool INTEGER NOT NULL REFERENCES pool,
    rank INTEGER,                       -- smaller is handed out first; null: by id alone
    depth INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0, -- wall clock; 0 is now
    reason TEXT,
    failed_in INTEGER REFERENCES pool,  -- where one that failed waited last
    priority INTEGER NOT NULL DEFAULT 0, -- as its finder gave it, for every stage that ranks by it
    note TEXT,                          -- what its finder wrote down for whoever works on it
    moved REAL,                         -- wall clock of the last move; null: it has made none
    lane TEXT                           -- null where its stage has no lanes
) STRICT;
CREATE INDEX ranked ON uri (pool, rank, id) WHERE rank IS NOT NULL AND pool > {FAILED};
CREATE INDEX lanes ON uri (pool, lane, rank, id) WHERE lane IS NOT NULL AND pool > {FAILED};
CREATE INDEX delayed ON uri (pool, not_before) WHERE not_before > 0;
CREATE INDEX failures ON uri (reason) WHERE pool = {FAILED};
-- A row here lifts its URI from `to_x` into `on_x`: handing out stays cheap, and taking back what a
-- dead process held is emptying this table.
CREATE TABLE lease (
    id INTEGER PRIMARY KEY REFERENCES uri,
    stage TEXT NOT NULL,
    token INTEGER NOT NULL DEFAULT 0,   -- that of no other lease, of this run or any
    holder TEXT NOT NULL DEFAULT ''     -- empty: nobody is known to have begun
) STRICT;
-- How often a process died while this one was at work.
CREATE TABLE mark (id INTEGER PRIMARY KEY REFERENCES uri, deaths INTEGER NOT NULL) STRICT;
-- Other machines that work for this harvest, and whose files lie where until they are shipped.
CREATE TABLE node (
    name TEXT PRIMARY KEY, seen REAL NOT NULL, version TEXT NOT NULL, counts TEXT NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE custody (
    owner INTEGER PRIMARY KEY REFERENCES uri, node TEXT NOT NULL REFERENCES node
) STRICT;
CREATE INDEX kept_at ON custody (node);
-- How many are in each pool (leased ones counted where they wait), how many tasks each stage has
-- brought to an end, and what the job counts: written with every move, so that a reader need not
-- count millions.
CREATE TABLE tally (counts TEXT NOT NULL) STRICT;
INSERT INTO pool (id, name) VALUES ({FINISHED}, 'finished'), ({FAILED}, 'failed');
INSERT INTO tally VALUES ('{{}}');
-- How far the harvest was, second by second at first. `elapsed` are seconds since the start of a
-- run, by a clock that never jumps; `counts` is the tally of that moment.
CREATE TABLE sample (
    run INTEGER NOT NULL,
    elapsed REAL NOT NULL,
    time REAL NOT NULL,                 -- wall clock
    counts TEXT NOT NULL,
    requests INTEGER NOT NULL,          -- of the whole harvest
    bytes INTEGER NOT NULL,
    PRIMARY KEY (run, elapsed)
) WITHOUT ROWID, STRICT;
CREATE TABLE host (
    name TEXT PRIMARY KEY, requests INTEGER NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
-- The last end of each kind of work of the clock, good and bad, by wall clock.
CREATE TABLE chore (
    name TEXT PRIMARY KEY, done_at REAL, done TEXT, failed_at REAL, failure TEXT
) WITHOUT ROWID, STRICT;
PRAGMA user_version = {FORMAT};
"""


def create_state(path: Path) -> None:
    """Built beside and renamed, so that an empty or half file at `path` is always damage."""
    # In WAL mode at once: switched later, a kill would leave a journal in the way.
    with whole_file(path, durable=False) as part, closing(connect(part)) as db:
        db.executescript(f"BEGIN; {SCHEMA} COMMIT;")


def check_state(db: sqlite3.Connection, path: Path) -> int:
    """The format of a sound file; raises StateDamaged for any other."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found not in (0, *READABLE):
        age = "a newer" if found > FORMAT else "an early"
        raise StateDamaged(
            f"{path} was written by {age} Sheaf (format {found}, this one knows {FORMAT})"
        )
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if not found:
        raise StateDamaged(f"{path} is damaged or no state of a harvest")
    if verdict != "ok":
        raise StateDamaged(f"{path} is damaged ({' '.join(verdict.split())})")
    return int(found)


def count_pools(db: sqlite3.Connection, path: Path) -> dict[str, int]:
    """How many URIs are in each pool, those at work where they wait. In one pass: grouped by pool,
    SQLite would sort all of them first, in memory."""
    ids = dict(db.execute("SELECT name, id FROM pool"))
    sums = ", ".join(f"count(*) FILTER (WHERE pool = {id_})" for id_ in ids.values())
    known, *counts = db.execute(f"SELECT count(*), {sums} FROM uri").fetchone()
    if strays := known - sum(counts):
        raise StateDamaged(f"{path} is damaged ({strays} URIs are in no pool)")
    return dict(zip(ids, counts, strict=True))


def connect(path: Path) -> sqlite3.Connection:
    return writing(path, CACHE_KB)


def files_of(path: Path) -> list[Path]:
    """What belongs together: a log left beside another file would be applied to it."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]
