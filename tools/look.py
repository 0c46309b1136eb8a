"""What a state file says, read from outside: without changing it or making anybody wait."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tools.errors import StateDamaged
from tools.schema import FAILED, reading

FAILURES = (
    f"SELECT coalesce(reason, 'unknown'), count(*) FROM uri WHERE pool = {FAILED} "
    "GROUP BY reason ORDER BY 2 DESC"
)


class Look(NamedTuple):
    """What a state file says at one moment."""

    pools: dict[str, int]
    done: dict[str, int]
    failures: dict[str, int]
    facts: dict[str, str]


def look(path: Path) -> Look:
    """One moment of a state file or snapshot."""
    try:
        with closing(reading(path)) as db:
            db.execute("BEGIN")  # one moment for everything
            counts = json.loads(db.execute("SELECT counts FROM tally").fetchone()[0])
            leased = dict(db.execute("SELECT stage, count(*) FROM lease GROUP BY stage"))
            failures = dict(db.execute(FAILURES))
            facts = dict(db.execute("SELECT key, value FROM meta"))
    except sqlite3.DatabaseError as error:
        raise StateDamaged(f"{path} cannot be read: {error}") from error
    done = {key.removeprefix("done_"): n for key, n in counts.items() if key.startswith("done_")}
    pools = {key: n for key, n in counts.items() if not key.startswith("done_")}
    for stage, count in leased.items():
        pools[f"to_{stage}"] -= count
        pools[f"on_{stage}"] += count
    return Look(pools, done, failures, facts)
