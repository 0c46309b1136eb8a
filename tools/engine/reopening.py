"""Moves of those that nobody holds: back to work, or a whole lane to `failed`.

Promise: what is at work is not touched; whoever else wants to move waits for a stretch of a few
thousand rows, not for all. Limit: the base of `Pools`, whose lock and transactions it shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import statements as sql
from .leases import Leases
from .marks import REASON
from .notes import Notes
from .rows import Register
from .stage import Stage, Task
from .statefile import as_json
from .waiting import Waiting

STRETCH = 5000  # rows looked at, or moved, in one step
LAST_CHARACTER = chr(0x10FFFF)


class LaneWaiting(NamedTuple):
    lane: str
    waiting: int
    ready_at: float
    """By `time.monotonic`; in the past if it may be asked."""


class Reopening(Notes):
    _leases: Leases
    _waiting: Waiting
    _stages: dict[str, Stage]

    def __init__(self, register: Register) -> None:
        super().__init__(register)

    def revive(
        self,
        reason: str = "",
        stage: Stage | None = None,
        below: int | None = None,
        heads: Sequence[str] | None = None,
    ) -> int:
        """What failed (in this stage) for a reason that holds this text waits again, with all its
        attempts; with `below` only those that had fewer, and what they had stays counted. `heads`:
        for a reason that begins so instead (see `journal.reasons`)."""
        with self.changed:
            revived = 0
            with self._register.transaction():
                for each in [stage] if stage else self._stages.values():
                    if count := self._register.revive(reason, each, below, heads):
                        self._waiting.forget(each.waiting)
                        revived += count
            self.changed.notify_all()
            return revived

    def reopen(
        self,
        stage: Stage,
        prefix: str = "",
        before: float | None = None,
        pools: Sequence[str] = ("finished",),
    ) -> int:
        """Those of these pools that begin so, and moved last before this moment of the wall clock,
        wait for this stage again; how many. Of no known age is what has made no move."""
        found = 0
        for pool in pools:
            ways = self._with_prefix(pool, prefix, before) if prefix else self._of_age(pool, before)
            found += sum(self._send_back(stage, ids, pool) for ids in ways)
        return found

    def reopen_named(self, stage: Stage, uris: Sequence[str], pool: str = "finished") -> int:
        """Those of these that are finished, or in `pool`, wait for this stage again; how many."""
        found = 0
        for first in range(0, len(uris), STRETCH):
            names = as_json(uris[first : first + STRETCH])
            ids = self._ids(sql.BY_NAMES, self._register.ids[pool], names)
            found += self._send_back(stage, ids, pool)
        return found

    def deepen(self, stage: Stage, old: int, new: int) -> int:
        """The limit of depth was `old` and is `new`: what was finished in between, and so looked no
        further, waits for this stage; how many."""
        ways = (self._ids(sql.BY_DEPTHS, *ends, old, new) for ends in self._stretches())
        return sum(self._send_back(stage, ids, "finished") for ids in ways)

    # --- for reports -----------------------------------------------------------------------

    def ranks(self, pool: str) -> dict[int, int]:
        """How many of a waiting pool have which rank, those at work counted where they wait; none
        where nobody is ranked. Nobody waits for it."""
        return dict(self._register.look(sql.RANKS, self._register.ids[pool]))

    def in_lane(self, stage: Stage, lane: str) -> list[str]:
        """Some of those that wait in a lane, due or not."""
        with self.changed:
            rows = self._register.read(sql.IN_LANE, self._register.ids[stage.waiting], lane)
            return [uri for (uri,) in rows]

    def lanes(self, stage: Stage, most: int = 10) -> list[LaneWaiting]:
        """The lanes in which most wait. Nobody waits for it."""
        pool = self._register.ids[stage.waiting]
        rows = self._register.look(sql.LONGEST_LANES, pool, most)
        with self.changed:
            return [
                LaneWaiting(lane, waiting, self._waiting.ready_at(stage, lane))
                for lane, waiting in rows
            ]

    def killers(self) -> Iterator[Task]:
        """What is in `failed` because its process died with it again and again: nobody could bring
        that home. The tasks are handed out to nobody."""
        for stage in self._stages.values():
            with self.changed:
                waited = self._register.ids[stage.waiting]
                rows = self._register.read(sql.KILLERS, REASON, waited)
            yield from self._leases.make(stage, rows)

    # --- inside ----------------------------------------------------------------------------

    def _send_back(self, stage: Stage, ids: Sequence[int], pool: str) -> int:
        if not ids:
            return 0
        with self.changed:
            with self._register.transaction():
                rows = self._register.send_back(stage, ids, pool)
            if pool in self._waiting:
                self._waiting.forget(pool)
            self._waiting.enter({stage.waiting: rows})
            self.changed.notify_all()
            return len(rows)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Of all ids, each below the next."""
        with self.changed:
            ((newest,),) = self._register.read(sql.NEWEST_ID)
        for last in range(0, newest, STRETCH):
            yield last, last + STRETCH

    def _of_age(self, pool: str, before: float | None) -> Iterator[list[int]]:
        for ends in self._stretches():
            yield self._ids(sql.BY_AGE, *ends, self._register.ids[pool], before)

    def _ids(self, question: str, *values: object) -> list[int]:
        with self.changed:
            return [id_ for (id_,) in self._register.read(question, *values)]

    def _with_prefix(self, pool: str, prefix: str, before: float | None) -> Iterator[list[int]]:
        first, end = prefix, prefix + LAST_CHARACTER
        while True:
            with self.changed:
                values = (self._register.ids[pool], before, first, end, STRETCH)
                rows = self._register.read(sql.BY_PREFIX, *values)
            yield [id_ for id_, _, is_wanted in rows if is_wanted]
            if len(rows) < STRETCH:
                return
            first = f"{rows[-1][1]}\0"  # the next text there can be
