"""Are the state of a harvest and its snapshots sound? And how old and how large are they?

Limit: a check reads every page. The harvest does not wait for it, but its log grows meanwhile.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from ..errors import StateDamaged
from .holder import running
from .reader import counts_in, moment
from .schema import check_state, count_pools
from .snapshots import check_log, check_snapshot, snapshots


class Copy(NamedTuple):
    """A snapshot, as its folder shows it."""

    name: str
    time: float
    size: int


class Verdict(NamedTuple):
    """What became of a check: `trouble` is empty if the file is sound."""

    path: Path
    format: int
    uris: int
    time: float
    size: int
    trouble: str


def copies(path: Path) -> list[Copy]:
    """The snapshots of a state file, oldest first; one may be thinned out while we look."""
    found = []
    for file in snapshots(path):
        try:
            status = file.stat()
        except FileNotFoundError:
            continue
        found.append(Copy(file.name, status.st_mtime, status.st_size))
    return found


def inspect(path: Path) -> Verdict:
    """Read every page of a state file; compare its indexes and its tally with what is there."""
    try:
        status = path.stat()
    except OSError as error:
        return Verdict(path, 0, 0, 0.0, 0, error.strerror or "it cannot be read")
    format_, uris, is_snapshot = 0, 0, path.name != "pools.db"
    try:
        with moment(path) as db:
            format_ = check_snapshot(db, path) if is_snapshot else check_state(db, path)
            if not is_snapshot and running(path.parent) is None:
                check_log(path)  # else it is being written
            uris, trouble = _recounted(db, path)
            (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
            trouble = trouble if verdict == "ok" else " ".join(verdict.split())
    except StateDamaged as error:
        trouble = str(error).replace(f"{path} ", "")
    return Verdict(path, format_, uris, status.st_mtime, status.st_size, trouble)


def _recounted(db: sqlite3.Connection, path: Path) -> tuple[int, str]:
    """How many URIs there are, and what the tally says wrongly."""
    tally = counts_in(db.execute("SELECT counts FROM tally").fetchone()[0])
    counted = count_pools(db, path)
    wrong = (name for name, count in counted.items() if tally.get(name, 0) != count)
    told = next((f"its tally is wrong about {name}" for name in wrong), "")
    return sum(counted.values()), told
