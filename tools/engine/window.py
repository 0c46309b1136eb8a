"""What comes next: the part of a waiting pool that is held in memory.

Promise: rows come out in the order of the pool, whatever arrives meanwhile; memory stays bounded.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping

SIZE = 1000
NEWEST = 1 << 62  # above every id there will be
NOTHING_READ = (-NEWEST, 0)

Row = tuple[int, int, str, int, int, int, str | None, str | None]
"""Rank (0 if there is none), id, uri, depth, attempts, priority, note, lane."""


class Window:
    """The first ready rows of one waiting pool. Every ready row below `horizon` is in here.

    `read` gives the next ones: in a pool without ranks those after an id, else the first of all.
    """

    def __init__(self, read: Callable[[int], list[Row]]) -> None:
        self.rows: list[Row] = []
        self.horizon: tuple[int, int] | None = NOTHING_READ  # None: nothing is beyond the rows
        self.next_due: float | None = None
        self._read = read

    def head(self) -> Row | None:
        """The first that may be handed out now."""
        if not self.rows and self.horizon is not None:
            self._fill(self._read(self.horizon[1]))
        return self.rows[0] if self.rows else None

    def reaches(self, rank: int, id_: int = NEWEST) -> bool:
        """Could a row of this rank be among the next?"""
        return self.horizon is None or (rank, id_) < self.horizon

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if self.reaches(row[0], row[1]):
                heapq.heappush(self.rows, row)
        if len(self.rows) > 4 * SIZE:
            self._fill(heapq.nsmallest(SIZE, self.rows))

    def take(self, count: int, same_rank: bool) -> list[Row]:
        """The first rows, at most so many; `same_rank` stops where the rank changes."""
        taken: list[Row] = []
        while self.rows and len(taken) < count:
            if same_rank and taken and self.rows[0][0] != taken[0][0]:
                break
            taken.append(heapq.heappop(self.rows))
        return taken

    def change(self, rows: Mapping[int, Row]) -> None:
        """Waiting rows, by id, have another depth and rank. Those that come from beyond the horizon
        may not be ready: then everything is read again."""
        held = {row[1] for row in self.rows} & rows.keys()
        self.rows = [rows.get(row[1], row) for row in self.rows]
        heapq.heapify(self.rows)
        others = [row for id_, row in rows.items() if id_ not in held]
        if self.horizon is not None and any(self.reaches(row[0], row[1]) for row in others):
            self.forget()

    def forget(self) -> None:
        """Rows have come in below the horizon, or gone: everything is read again."""
        self.rows = []
        self.horizon = NOTHING_READ

    def _fill(self, rows: list[Row]) -> None:
        self.rows = rows
        self.horizon = rows[-1][:2] if len(rows) >= SIZE else None
