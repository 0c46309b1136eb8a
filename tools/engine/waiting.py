"""What waits, stage by stage, and who of it comes next.

Promise: whoever is due comes out in the order of the stage, those that were at work when a process
died last of all. Limit: `Pools` has the lock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .leases import Leases
from .marks import Marked
from .rows import LONGEST_DELAY_S, Register
from .setback import SetBack
from .stage import Stage
from .window import Row, Window

logger = logging.getLogger(__name__)


class Next(NamedTuple):
    rows: Sequence[Row]
    is_lonely: bool = False  # to be at work with nobody beside it


class Waiting:
    def __init__(
        self,
        stages: Iterable[Stage],
        register: Register,
        leases: Leases,
        last_seen: float | None,
    ) -> None:
        """`last_seen` is what the wall clock showed last before this process began, if known."""
        self._register = register
        self._leases = leases
        self._windows = {stage.waiting: Window() for stage in stages}
        self._set_back = SetBack(last_seen)
        self._read_dues()

    def __contains__(self, pool: str) -> bool:
        return pool in self._windows

    # --- coming in -------------------------------------------------------------------------

    def enter(self, arrivals: Mapping[str, list[Row]]) -> None:
        for pool, rows in arrivals.items():
            if rows:
                self._windows[pool].add(rows)

    def reaches(self, pool: str, rank: int) -> bool:
        """Could a row of this rank be among the next?"""
        return pool in self._windows and self._windows[pool].reaches(rank)

    def delay(self, pool: str, not_before: float) -> None:
        """Something has come in that is not ready before this moment."""
        window = self._windows[pool]
        window.next_due = min(window.next_due or not_before, not_before)

    def forget(self, pool: str) -> None:
        """Rows have come in, or gone, that the window knows nothing of."""
        self._windows[pool].forget()

    # --- going out -------------------------------------------------------------------------

    def is_ready(self, stage: Stage) -> bool:
        """Could a task be leased now?"""
        self.heed_clock()
        window = self._windows[stage.waiting]
        due = window.next_due
        if due is not None and not 0 < due - time.time() <= LONGEST_DELAY_S:
            self._promote_due(stage.waiting)
        if not window.rows and window.horizon is not None:
            window.fill(self._register.ready(stage, window.horizon[1]))
        marked = self._marked_next(stage, 1)
        rows = [each.row for each in marked] or window.rows
        if not rows or self._leases.lonely is not None:
            return False
        if marked and marked[0].is_lonely and self._leases:
            return False
        return stage.order != "levels" or not self._is_level_unfinished(stage, rows[0][0])

    def take(self, stage: Stage, places: int) -> Next:
        """The next rows; fewer if few are ready."""
        if not self.is_ready(stage):
            return Next([])
        marked = self._marked_next(stage, places)
        if not marked:
            window = self._windows[stage.waiting]
            return Next(window.take(places, same_rank=stage.order == "levels"))
        if marked[0].is_lonely:
            return Next([marked[0].row], is_lonely=True)
        return Next([each.row for each in marked if not each.is_lonely])

    def among(self, stage: Stage, uris: Sequence[str], count: int) -> list[Row]:
        """Those of these URIs that wait, due or not."""
        is_possible = bool(uris) and count > 0 and self._leases.lonely is None
        return self._register.named(stage, uris, count) if is_possible else []

    def seconds_to_next_due(self, stage: Stage) -> float | None:
        due = self._windows[stage.waiting].next_due
        return None if due is None else max(0.0, due - time.time())

    def heed_clock(self) -> None:
        """Delays end by the wall clock, over restarts too: if it is set back, so are their ends."""
        if not (seconds := self._set_back.seconds()):
            return
        logger.warning("the clock was set back by %.0f s: delays end that much earlier", seconds)
        with self._register.transaction():
            self._register.bring_forward(seconds)
        self._read_dues()

    # --- inside ----------------------------------------------------------------------------

    def _read_dues(self) -> None:
        for pool, window in self._windows.items():
            window.next_due = self._register.earliest_due(pool)

    def _promote_due(self, pool: str) -> None:
        with self._register.transaction():
            rows = self._register.promote(pool)
        self.enter({pool: rows})
        self._windows[pool].next_due = self._register.earliest_due(pool)

    def _marked_next(self, stage: Stage, count: int) -> list[Marked]:
        """Those that were at work when a process died, if it is their turn: nobody else is left, or
        nobody else of their level. All of them are of one level, where levels count."""
        rows = self._windows[stage.waiting].rows
        if rows and stage.order != "levels":
            return []
        marked = self._register.marked(stage, count)
        if not marked or stage.order != "levels":
            return marked
        level = marked[0].row[0]
        is_turn = not rows or level < rows[0][0]
        return [each for each in marked if each.row[0] == level] if is_turn else []

    def _is_level_unfinished(self, stage: Stage, rank: int) -> bool:
        if any((task.rank or 0) < rank for task in self._leases.of(stage)):
            return True
        return self._register.is_delayed_above(stage.waiting, rank)
