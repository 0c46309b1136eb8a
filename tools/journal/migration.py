"""A state of an older version becomes one of this version.

Promise: in one transaction in the file itself, so that a kill, a power cut or a full disk leaves
the old format, whole, and the next start tries again; no room for a second file is needed. Limit:
an older version cannot go on with it afterwards.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from ..base.sqlite import transaction
from .schema import FAILED, FORMAT, connect

logger = logging.getLogger(__name__)

# Before the third format a priority was nothing but a rank. In a pool whose ranks are not all
# depths they are priorities.
BY_PRIORITY = (
    f"SELECT DISTINCT pool FROM uri WHERE rank IS NOT NULL AND pool > {FAILED} "
    "AND rank NOT IN (depth, -depth)"
)
TO_THIRD = (
    "ALTER TABLE uri ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE uri ADD COLUMN note TEXT",
    "ALTER TABLE uri ADD COLUMN moved REAL",
    "ALTER TABLE uri ADD COLUMN lane TEXT",
    f"CREATE INDEX lanes ON uri (pool, lane, rank, id) WHERE lane IS NOT NULL AND pool > {FAILED}",
    "ALTER TABLE lease ADD COLUMN token INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE lease ADD COLUMN holder TEXT NOT NULL DEFAULT ''",
    "CREATE TABLE IF NOT EXISTS mark "
    "(id INTEGER PRIMARY KEY REFERENCES uri, deaths INTEGER NOT NULL) STRICT",
    "CREATE TABLE node (name TEXT PRIMARY KEY, seen REAL NOT NULL, version TEXT NOT NULL, "
    "counts TEXT NOT NULL) WITHOUT ROWID, STRICT",
    "CREATE TABLE custody "
    "(owner INTEGER PRIMARY KEY REFERENCES uri, node TEXT NOT NULL REFERENCES node) STRICT",
    "CREATE INDEX kept_at ON custody (node)",
    f"UPDATE uri SET priority = rank WHERE rank IS NOT NULL AND pool IN ({BY_PRIORITY})",
    "PRAGMA user_version = 3",
)


def bring_along(path: Path) -> sqlite3.Connection:
    """Open a sound state of the second format as one of this format."""
    db = connect(path)
    try:
        with transaction(db):
            for statement in TO_THIRD:
                db.execute(statement)
    except BaseException:
        db.close()
        raise
    logger.warning("%s is of an older version of Sheaf: brought along to format %d", path, FORMAT)
    return db
