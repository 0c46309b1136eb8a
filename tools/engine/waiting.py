"""What waits, stage by stage, and who of it comes next.

Promise: whoever is due comes out in the order of the stage, those that were at work when a process
died last of all. Limit: `Pools` has the lock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .lanes import LANE, Lanes
from .leases import Leases
from .marks import Marked
from .rows import LONGEST_DELAY_S, Register
from .setback import SetBack
from .stage import Stage, Task
from .window import Row, Window

logger = logging.getLogger(__name__)

MARKED = 100  # are looked at where only some of them may begin


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
        self._windows: dict[str, Window | Lanes] = {}
        self._lanes: dict[str, Lanes] = {}
        for stage in stages:
            self._windows[stage.waiting] = self._window(stage)
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

    def change(self, pool: str, rows: Iterable[Row]) -> None:
        """Rows that wait here have another depth, and so perhaps another rank."""
        self._windows[pool].change({row[1]: row for row in rows})

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
        head = window.head()
        marked = self._marked_next(stage, head, 1)
        row = marked[0].row if marked else head
        if row is None or self._leases.lonely is not None:
            return False
        if marked and marked[0].is_lonely and self._leases:
            return False
        return stage.order != "levels" or not self._is_level_unfinished(stage, row[0])

    def take(self, stage: Stage, places: int) -> Next:
        """The next rows; fewer if few are ready."""
        if not self.is_ready(stage):
            return Next([])
        window = self._windows[stage.waiting]
        marked = self._marked_next(stage, window.head(), places)
        if not marked:
            return Next(window.take(places, same_rank=stage.order == "levels"))
        if marked[0].is_lonely:
            return self._begun(stage, Next([marked[0].row], is_lonely=True))
        return self._begun(stage, Next([each.row for each in marked if not each.is_lonely]))

    def among(self, stage: Stage, uris: Sequence[str], count: int) -> list[Row]:
        """Those of these URIs that wait, due or not."""
        is_possible = bool(uris) and count > 0 and self._leases.lonely is None
        return self._register.named(stage, uris, count) if is_possible else []

    def take_among(self, stage: Stage, uris: Sequence[str], count: int) -> Sequence[Row]:
        rows = self.among(stage, uris, count)
        if rows:
            self._register.make_ready(rows)
            self.forget(stage.waiting)  # they may be in its window
        return self._begun(stage, Next(rows)).rows

    def written(self, stage: Stage) -> None:
        """What was taken stands in the file as handed out."""
        if lanes := self._lanes.get(stage.waiting):
            lanes.written()

    def ended(self, task: Task) -> None:
        """It is in no `on_` pool any more."""
        if lanes := self._lanes.get(task.stage.waiting):
            seconds = time.monotonic() - task.begun if task.seconds is None else task.seconds
            lanes.end(task.lane or "", seconds)

    def lane_changed(self, lane: str) -> None:
        for lanes in self._lanes.values():
            lanes.changed(lane)

    def ready_at(self, stage: Stage, lane: str) -> float:
        lanes = self._lanes.get(stage.waiting)
        return lanes.gate.ready_at(lane) if lanes else 0.0

    def is_sooner_than_told(self) -> bool:
        """May a lane be asked before the moment that whoever waits was told?"""
        return bool(self._lanes) and any(
            lanes.is_sooner_than_told() for lanes in self._lanes.values()
        )

    def seconds_to_next_due(self, stage: Stage) -> float | None:
        due = self._windows[stage.waiting].next_due
        waits = [] if due is None else [due - time.time()]
        if lanes := self._lanes.get(stage.waiting):
            moments = [lanes.tell_next(), *self._moments_of_marked(stage, lanes)]
            waits += [at - time.monotonic() for at in moments if at is not None]
        return max(0.0, min(waits)) if waits else None

    def heed_clock(self) -> None:
        """Delays end by the wall clock, over restarts too: if it is set back, so are their ends."""
        if not (seconds := self._set_back.seconds()):
            return
        logger.warning("the clock was set back by %.0f s: delays end that much earlier", seconds)
        with self._register.transaction():
            self._register.bring_forward(seconds)
        self._read_dues()

    # --- inside ----------------------------------------------------------------------------

    def _window(self, stage: Stage) -> Window | Lanes:
        register = self._register
        if stage.lane is None:
            return Window(partial(register.ready, stage))
        lanes = Lanes(stage, partial(register.ready_in, stage), partial(register.lanes, stage))
        self._lanes[stage.waiting] = lanes
        return lanes

    def _read_dues(self) -> None:
        for pool, window in self._windows.items():
            window.next_due = self._register.earliest_due(pool)

    def _promote_due(self, pool: str) -> None:
        with self._register.transaction():
            rows = self._register.promote(pool)
        self.enter({pool: rows})
        self._windows[pool].next_due = self._register.earliest_due(pool)

    def _marked_next(self, stage: Stage, head: Row | None, count: int) -> list[Marked]:
        """Those that were at work when a process died, if it is their turn: nobody else is left, or
        nobody else of their level. All of them are of one level, where levels count."""
        if head is not None and stage.order != "levels":
            return []
        marked = self._marked(stage, count)
        if not marked or stage.order != "levels":
            return marked
        level = marked[0].row[0]
        is_turn = head is None or level < head[0]
        return [each for each in marked if each.row[0] == level] if is_turn else []

    def _marked(self, stage: Stage, count: int) -> list[Marked]:
        """One of each lane, where there are lanes, if that may be asked now."""
        if (lanes := self._lanes.get(stage.waiting)) is None:
            return self._register.marked(stage, count)
        by_lane: dict[str, Marked] = {}
        for each in self._register.marked(stage, MARKED):
            if lanes.may_begin(str(each.row[LANE])):
                by_lane.setdefault(str(each.row[LANE]), each)
        return list(by_lane.values())[:count]

    def _moments_of_marked(self, stage: Stage, lanes: Lanes) -> list[float]:
        marked = self._register.marked(stage, MARKED)
        moments = [lanes.gate.ready_at(str(each.row[LANE])) for each in marked]
        return [at for at in moments if at > time.monotonic()]

    def _begun(self, stage: Stage, taken: Next) -> Next:
        """In their lanes, where there are lanes."""
        if lanes := self._lanes.get(stage.waiting):
            for row in taken.rows:
                lanes.begin(str(row[LANE]))
        return taken

    def _is_level_unfinished(self, stage: Stage, rank: int) -> bool:
        if stage.waiting in self._lanes:
            return self._register.is_anybody_above(stage.waiting, rank)
        if any((task.rank or 0) < rank for task in self._leases.of(stage)):
            return True
        return self._register.is_delayed_above(stage.waiting, rank)
