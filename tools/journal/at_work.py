"""Who works on what now, and the other machines that work for a harvest: read from its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from .facts import table_in
from .reader import moment

LEASES = (
    "SELECT token, stage, holder, uri, depth, attempts FROM lease JOIN uri USING (id) "
    "ORDER BY stage, holder = '', holder, token LIMIT ?"
)
NODES = "SELECT name, seen, version, counts FROM node ORDER BY name"


class Lease(NamedTuple):
    """A URI that was handed out; without a holder it lies ready for whoever is free next."""

    token: int
    stage: str
    holder: str
    uri: str
    depth: int
    attempts: int


class Machine(NamedTuple):
    """One that works for this harvest; `seen` by the wall clock."""

    name: str
    seen: float
    version: str
    counts: dict[str, Any]


def leases_in(file: Path, most: int) -> list[Lease]:
    with moment(file) as db:
        return [Lease(*row) for row in db.execute(LEASES, (most,))]


def machines_in(file: Path) -> list[Machine]:
    with moment(file) as db:
        if db.execute("PRAGMA user_version").fetchone()[0] < 3:
            return []
        rows = db.execute(NODES).fetchall()
    return [Machine(name, seen, version, table_in(counts)) for name, seen, version, counts in rows]
