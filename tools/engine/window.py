"""What comes next: the part of a waiting pool that is held in memory.

Promise: rows come out in the order of the pool, whatever arrives meanwhile; memory stays bounded.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

SIZE = 1000
NEWEST = 1 << 62  # above every id there will be

Row = tuple[int, int, str, int, int]  # rank (0 if there is none), id, uri, depth, attempts


@dataclass(slots=True)
class Window:
    """The first ready rows of one waiting pool. Every ready row below `horizon` is in here."""

    rows: list[Row] = field(default_factory=list)
    horizon: tuple[int, int] | None = (-NEWEST, 0)  # None: there is nothing beyond the rows
    next_due: float | None = None

    def reaches(self, rank: int, id_: int = NEWEST) -> bool:
        return self.horizon is None or (rank, id_) < self.horizon

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if self.reaches(row[0], row[1]):
                heapq.heappush(self.rows, row)
        if len(self.rows) > 4 * SIZE:
            self.fill(heapq.nsmallest(SIZE, self.rows))

    def take(self, count: int, same_rank: bool) -> list[Row]:
        """The first rows, at most so many; `same_rank` stops where the rank changes."""
        taken: list[Row] = []
        while self.rows and len(taken) < count:
            if same_rank and taken and self.rows[0][0] != taken[0][0]:
                break
            taken.append(heapq.heappop(self.rows))
        return taken

    def forget(self) -> None:
        """Rows have come in below the horizon: everything is read again."""
        self.rows = []
        self.horizon = (-NEWEST, 0)

    def fill(self, rows: list[Row]) -> None:
        self.rows = rows
        self.horizon = rows[-1][:2] if len(rows) >= SIZE else None
