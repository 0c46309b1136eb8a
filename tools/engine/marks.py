"""Who was at work when a process died: one of them may have killed it, for want of memory or by a
crash in a library.

Promise: what kills its process holds nobody up and does not do so for ever; a process that somebody
else killed costs nobody anything but its turn. Each death leaves a mark on all that were at work;
any orderly end of a task clears its mark. Marked ones go last. From ALONE marks on one is at work
with nobody beside it, so that further marks are its own. Only those end in `failed`, and only
several: a lone task too may be hit by somebody's `kill -9`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from ..journal.schema import FAILED
from .stage import Stage
from .statements import COLUMNS, UNHELD
from .window import Row

ELSEWHERE = "elsewhere"  # who holds what other machines work on: they live on without us
ALONE = 3
MOST = 6  # deaths, the last three of them alone

MARK = (
    f"INSERT INTO mark SELECT id, 1 FROM lease WHERE holder != '{ELSEWHERE}' "
    "ON CONFLICT (id) DO UPDATE SET deaths = deaths + 1"
)
OF_ONE = "SELECT deaths FROM mark WHERE id = ?"
SET = "INSERT INTO mark VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET deaths = excluded.deaths"
CLEAR = "DELETE FROM mark WHERE id IN (SELECT value FROM json_each(?))"
NEXT = (
    f"SELECT deaths, {COLUMNS} FROM mark JOIN uri USING (id) "
    f"WHERE pool = ? AND {UNHELD} ORDER BY {{}} LIMIT ?"
)
GIVE_UP = (
    f"UPDATE uri SET pool = {FAILED}, failed_in = pool, attempts = attempts + 1, reason = ? "
    "WHERE pool = ? AND id IN (SELECT id FROM mark WHERE deaths >= ?) RETURNING uri"
)
FORGET = f"DELETE FROM mark WHERE (SELECT pool FROM uri WHERE uri.id = mark.id) = {FAILED}"
REASON = (
    f"the process died {MOST} times while this was at work, the last times with nothing else at "
    "work: it needs more memory than there is, or a library crashes on it"
)


class Marked(NamedTuple):
    deaths: int
    row: Row

    @property
    def is_lonely(self) -> bool:
        return self.deaths >= ALONE


class Marks:
    """Not for several threads at once, and within the transactions of its owner."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.count = 0

    def take_back(self) -> None:
        """What a dead process held waits again, marked."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(MARK)
        self._db.execute("DELETE FROM lease")
        self._db.execute("COMMIT")
        self.recount()

    def recount(self) -> None:
        (self.count,) = self._db.execute("SELECT count(*) FROM mark").fetchone()

    def clear(self, ids: str) -> None:
        """A JSON list of those that have come to an orderly end."""
        if self.count:
            self.count -= self._db.execute(CLEAR, (ids,)).rowcount

    def deaths(self, id_: int) -> int:
        """How many marks it has."""
        row = self._db.execute(OF_ONE, (id_,)).fetchone() if self.count else None
        return row[0] if row else 0

    def set(self, id_: int, deaths: int) -> None:
        self._db.execute(SET, (id_, deaths))
        self.recount()

    def give_up(self, pool: int) -> Sequence[str]:
        """Those of a waiting pool with too many marks are in `failed` now, unmarked."""
        failed = [uri for (uri,) in self._db.execute(GIVE_UP, (REASON, pool, MOST)).fetchall()]
        if failed:
            self._db.execute(FORGET)
            self.recount()
        return failed

    def next(self, stage: Stage, pool: int, count: int) -> list[Marked]:
        """The next that wait: those with fewest marks, or where levels count of the upper level."""
        if not self.count:
            return []
        order = "rank, deaths, id" if stage.order == "levels" else "deaths, rank, id"
        rows = self._db.execute(NEXT.format(order), (pool, count)).fetchall()
        return [Marked(row[0], row[1:]) for row in rows]
