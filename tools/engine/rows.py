"""The rows behind the pools: how URIs come in, move and are found again.

Limit: not for several threads at once; `Pools` has the lock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import orjson

from ..journal.reasons import BY_HEAD
from ..journal.schema import FAILED, count_pools
from . import statements as sql
from .marks import ELSEWHERE, REASON, Marked
from .stage import Stage, Task
from .statefile import StateFile, as_json
from .window import SIZE, Row

logger = logging.getLogger(__name__)

LONGEST_DELAY_S = 7 * 86_400.0  # anything later is a clock that jumped, not a wish

Arrival = tuple[str, int | None, int, int, str | None]
"""URI, rank, depth, priority and note."""


class Register(StateFile):
    def __init__(self, path: Path, stages: Iterable[Stage]) -> None:
        super().__init__(path)
        self.leases = 0
        self._stages = {stage.waiting: stage for stage in stages}
        self._laned = {pool for pool, stage in self._stages.items() if stage.lane}
        self.ids = self._declare_pools()
        self.counts = self._count()
        self._declare_lanes()
        self._give_up_killers()

    # --- inside a transaction --------------------------------------------------------------

    def insert(
        self, pool: str, uris: Sequence[str], rank: int | None, depth: int, is_read: bool = False
    ) -> list[Row]:
        """Those that are known already stay where they are; the new rows, if they are wanted."""
        return self._insert(pool, is_read, sql.INSERT, as_json(uris), rank, depth)

    def insert_rich(self, pool: str, uris: list[Arrival], is_read: bool = False) -> list[Row]:
        """As above, with a priority and a note, or a lane."""
        return self._insert(pool, is_read, sql.INSERT_RICH, as_json(uris))

    def sink(self, pool: str, uris: list[Arrival]) -> tuple[list[Row], dict[str, list[Row]]]:
        """As above; the new rows, and by pool the known ones that sank."""
        ((newest,),) = self._db.execute(sql.NEWEST_ID).fetchall()
        found = self._db.execute(sql.SINK, (self.ids[pool], as_json(uris))).fetchall()
        rows = {row[1]: row for row in found}  # the last word on each
        new = [row[:-1] for id_, row in rows.items() if id_ > newest]
        self.counts[pool] += len(new)
        sunk: dict[str, list[Row]] = {}
        names = {id_: name for name, id_ in self.ids.items()}
        for row in (row for id_, row in rows.items() if id_ <= newest):
            sunk.setdefault(names[row[-1]], []).append(row[:-1])
        return new, sunk

    def rerank(self, stage: Stage, rows: Sequence[Row]) -> list[Row]:
        """Rows that wait there, with the rank their new depth gives them."""
        if stage.order not in sql.BY_DEPTH:
            return list(rows)
        ids = as_json([row[1] for row in rows])
        return self._db.execute(sql.RERANK.format(sql.RANK[stage.order]), (ids,)).fetchall()

    def send_back(self, stage: Stage, ids: Sequence[int], came_from: str) -> list[Row]:
        """Those that are still in that pool, and nobody holds, wait for this stage."""
        lane = "NULL" if stage.lane is None else "lane_of(?1, uri)"
        statement = sql.SEND_BACK.format(sql.RANK[stage.order], lane)
        values = (self.ids[stage.waiting], time.time(), as_json(ids), self.ids[came_from])
        rows: list[Row] = self._db.execute(statement, values).fetchall()
        self.counts[came_from] -= len(rows)
        self.counts[stage.waiting] += len(rows)
        return rows

    def leave(
        self,
        tasks: Sequence[Task],
        to: str,
        rank: int | None,
        attempts: int = 0,
        not_before: float = 0.0,
        reason: str | None = None,
    ) -> None:
        """Leased tasks of one stage go to another pool, or back to where they waited."""
        ids, waited = as_json([task.id for task in tasks]), tasks[0].stage.waiting
        failed_in = self.ids[waited] if to == "failed" else None
        self._db.execute(sql.RELEASE, (ids,))
        self._marks.clear(ids)
        values = (self.ids[to], rank, attempts, not_before, reason, failed_in, time.time(), ids)
        self._db.execute(sql.LEAVE, values)
        if to != waited and not self._laned.isdisjoint((to, waited)):
            self._db.execute(sql.SET_LANE, (ids,))
        self.counts[waited] -= len(tasks)
        self.counts[to] += len(tasks)
        if to != waited:
            self.counts[tasks[0].stage.done] += len(tasks)

    def leave_marked(self, task: Task, reason: str) -> None:
        """A process died with this task: it waits again, with a mark more."""
        deaths = self._marks.deaths(task.id)
        self.leave([task], task.stage.waiting, task.rank, task.attempts, reason=reason)
        self._marks.set(task.id, deaths + 1)

    def promote(self, pool: str) -> list[Row]:
        """Delayed URIs whose time has come (or whose time a clock jump made absurd) are ready."""
        now = time.time()
        values = (self.ids[pool], now, now + LONGEST_DELAY_S)
        return self._db.execute(sql.PROMOTE, values).fetchall()

    def bring_forward(self, seconds: float) -> None:
        """The clock was set back by so much: every delay ends when it would have ended."""
        self._db.execute(sql.BRING_FORWARD, (seconds,))

    def revive(
        self, reason: str, stage: Stage, below: int | None, heads: Sequence[str] | None = None
    ) -> int:
        """What failed there for such a reason waits again; how many."""
        which = sql.BY_TEXT if heads is None else BY_HEAD
        statement = sql.REVIVE.format(sql.RANK[stage.order], which)
        said = reason if heads is None else as_json(heads)
        values = (self.ids[stage.waiting], said, below)
        count = self._db.execute(statement, values).rowcount
        self.count_up({"failed": -count, stage.waiting: count, stage.done: -count})
        return count

    # --- without one -----------------------------------------------------------------------

    def named(self, stage: Stage, uris: Sequence[str], count: int) -> list[Row]:
        """Those of these URIs that wait, delayed or not."""
        return self._db.execute(
            sql.NAMED, (self.ids[stage.waiting], as_json(uris), count)
        ).fetchall()

    def make_ready(self, rows: Sequence[Row]) -> None:
        """They are delayed no longer."""
        with self.stop_if_unwritable():
            self._db.execute(sql.MAKE_READY, (as_json([row[1] for row in rows]),))

    def lease(self, tasks: Sequence[Task]) -> None:
        """Of one stage; their tokens follow one another."""
        stage, ids = tasks[0].stage, as_json([task.id for task in tasks])
        values = (stage.name, tasks[0].token, ELSEWHERE if stage.is_elsewhere else "", ids)
        with self.stop_if_unwritable():
            self._db.execute(sql.LEASE, values)
        self.leases += len(tasks)

    def pool_of(self, uri: str) -> str | None:
        row = self._db.execute(sql.POOL_OF, (uri,)).fetchone()
        return row[0] if row else None

    def some_of(self, pool: str, last_id: int) -> list[tuple[int, str]]:
        """The next thousand of a pool, with their ids."""
        return self._db.execute(sql.SOME_OF_POOL, (self.ids[pool], last_id)).fetchall()

    def ready(self, stage: Stage, last_id: int) -> list[Row]:
        """The next ready rows: of a fifo those after the last one seen, else the best of all."""
        pool = self.ids[stage.waiting]
        if stage.order == "fifo":
            return self._db.execute(sql.OLDEST, (pool, last_id, SIZE)).fetchall()
        return self._db.execute(sql.RANKED, (pool, SIZE)).fetchall()

    def lanes(self, stage: Stage) -> list[str]:
        """Every lane in which somebody waits, and perhaps some in which all are at work."""
        return [lane for (lane,) in self._db.execute(sql.LANES, (self.ids[stage.waiting],))]

    def ready_in(self, stage: Stage, lane: str, count: int) -> list[Row]:
        return self._db.execute(sql.OF_LANE, (self.ids[stage.waiting], lane, count)).fetchall()

    def marked(self, stage: Stage, count: int) -> list[Marked]:
        """The next of those that were at work when a process died."""
        return self._marks.next(stage, self.ids[stage.waiting], count)

    def deaths(self, task: Task) -> int:
        """How many processes have died with it, without an orderly end between."""
        return self._marks.deaths(task.id)

    def earliest_due(self, pool: str) -> float | None:
        ((earliest,),) = self._db.execute(sql.EARLIEST, (self.ids[pool],)).fetchall()
        return earliest  # type: ignore[no-any-return]

    def is_delayed_above(self, pool: str, rank: int) -> bool:
        return self._db.execute(sql.UNFINISHED_ABOVE, (self.ids[pool], rank)).fetchone() is not None

    def is_anybody_above(self, pool: str, rank: int) -> bool:
        """Waiting, delayed or at work."""
        ((least,),) = self._db.execute(sql.LEAST_RANK, (self.ids[pool],)).fetchall()
        return least is not None and least < rank

    # --- inside ----------------------------------------------------------------------------

    def _insert(self, pool: str, is_read: bool, statement: str, *values: object) -> list[Row]:
        if not is_read:
            self.counts[pool] += self._db.execute(statement, (self.ids[pool], *values)).rowcount
            return []
        returning = f"{statement} RETURNING {sql.COLUMNS}"
        rows: list[Row] = self._db.execute(returning, (self.ids[pool], *values)).fetchall()
        self.counts[pool] += len(rows)
        return rows

    def _declare_pools(self) -> dict[str, int]:
        """Every pool this job knows has a row; what a dead process held waits again."""
        with self.stop_if_unwritable():
            for stage in self._stages.values():
                for name in (stage.waiting, stage.active):
                    self._db.execute("INSERT OR IGNORE INTO pool (name) VALUES (?)", (name,))
            self._marks.take_back()
            in_order_of_life = f"SELECT name, id FROM pool ORDER BY id <= {FAILED}, id"
            ids = dict(self._db.execute(in_order_of_life))
            for stage in self._stages.values():
                self._db.execute(sql.SET_RANK[stage.order], (ids[stage.waiting],))
            return ids

    def _declare_lanes(self) -> None:
        """Who waits has a lane where this run has lanes, and none where it has none."""
        laned = {self.ids[pool]: stage for pool, stage in self._stages.items() if stage.lane}
        self._db.create_function("lane_of", 2, partial(_lane_of, laned), deterministic=True)
        for pool in self._stages:
            id_ = self.ids[pool]
            ((number,),) = self._db.execute(sql.IN_LANES, (id_,)).fetchall()
            with self.stop_if_unwritable():
                if number and id_ not in laned:
                    self._db.execute(sql.CLEAR_LANES, (id_,))
                elif id_ in laned and number < self.counts[pool]:
                    self._db.execute(sql.SET_LANES, (id_,))

    def _give_up_killers(self) -> None:
        for pool, stage in self._stages.items() if self._marks.count else ():
            with self.transaction():
                for uri in self._marks.give_up(self.ids[pool]):
                    logger.warning("%s failed uri=%r: %s", stage.name, uri, REASON)
                    self.count_up({pool: -1, "failed": 1, stage.done: 1})

    def _count(self) -> dict[str, int]:
        """Pools are counted anew at every start, so that a tally can never stay wrong."""
        (tally,) = self._db.execute("SELECT counts FROM tally").fetchone()
        recorded: dict[str, int] = orjson.loads(tally)
        done = dict.fromkeys((stage.done for stage in self._stages.values()), 0)
        in_order_of_life = dict.fromkeys(self.ids, 0)
        counts = done | recorded | in_order_of_life | count_pools(self._db, self.path)
        if counts != recorded:
            with self.stop_if_unwritable():
                self._write_tally(counts)
        return counts


def _lane_of(laned: Mapping[int, Stage], pool: int, uri: str) -> str | None:
    return laned[pool].lane_of(uri) if pool in laned else None
