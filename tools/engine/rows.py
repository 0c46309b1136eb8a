"""The rows behind the pools: every statement there is, and what a transaction is.

Promise: a transaction is all or nothing, on disk and in the counts. What cannot be written ends the
harvest. Limit: not for several threads at once; `Pools` has the lock.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from ..base.checkpoint import Checkpointer
from ..errors import StopHarvest
from ..journal.schema import FAILED
from ..journal.snapshots import open_state, snapshot
from .marks import REASON, Marked, Marks
from .stage import Stage, Task
from .window import SIZE, Row

logger = logging.getLogger(__name__)

LONGEST_DELAY_S = 7 * 86_400.0  # anything later is a clock that jumped, not a wish
CHECKPOINT_EVERY = 10_000  # rows written

INSERT = (
    "INSERT OR IGNORE INTO uri (uri, pool, rank, depth) "
    "SELECT value ->> 0, ?1, value ->> 1, value ->> 2 FROM json_each(?2) WHERE true"
)
LEASE = "INSERT INTO lease (id, stage, token) SELECT value, ?, ? + key FROM json_each(?)"
RELEASE = "DELETE FROM lease WHERE id IN (SELECT value FROM json_each(?))"
LEAVE = (
    "UPDATE uri SET pool = ?, rank = ?, attempts = ?, not_before = ?, reason = ?, failed_in = ? "
    "WHERE id IN (SELECT value FROM json_each(?))"
)
ROWS = "SELECT coalesce(rank, 0), id, uri, depth, attempts FROM uri WHERE pool = ? "
READY = (
    "AND not_before = 0 AND id NOT IN (SELECT id FROM lease) AND id NOT IN (SELECT id FROM mark) "
)
NAMED = (
    f"{ROWS} AND uri IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT id FROM lease) "
    "AND id NOT IN (SELECT id FROM mark) LIMIT ?"
)
MAKE_READY = "UPDATE uri SET not_before = 0 WHERE id IN (SELECT value FROM json_each(?))"
OLDEST = f"{ROWS} AND id > ? {READY} ORDER BY id LIMIT ?"
RANKED = f"{ROWS} AND rank IS NOT NULL AND pool > {FAILED} {READY} ORDER BY rank, id LIMIT ?"
PROMOTE = (
    "UPDATE uri SET not_before = 0 WHERE pool = ? AND not_before > 0 AND (not_before <= ? OR "
    "not_before > ?) RETURNING coalesce(rank, 0), id, uri, depth, attempts"
)
BRING_FORWARD = "UPDATE uri SET not_before = max(1.0, not_before - ?) WHERE not_before > 0"
REVIVE = (
    "UPDATE uri SET pool = failed_in, failed_in = NULL, attempts = 0, reason = NULL "
    f"WHERE pool = {FAILED} AND failed_in = ? AND instr(lower(coalesce(reason, '')), lower(?))"
)
UNFINISHED_ABOVE = "SELECT 1 FROM uri WHERE pool = ? AND not_before > 0 AND rank < ? LIMIT 1"
POOL_OF = "SELECT name FROM uri JOIN pool ON pool.id = uri.pool WHERE uri = ?"
# What waits may have been ranked for another order, by a run with other settings.
SET_RANK = {
    "fifo": f"UPDATE uri SET rank = NULL WHERE pool = ? AND pool > {FAILED} AND rank IS NOT NULL",
    "levels": "UPDATE uri SET rank = depth WHERE pool = ? AND rank IS NOT depth",
    "deepest": "UPDATE uri SET rank = -depth WHERE pool = ? AND rank IS NOT -depth",
    "priority": "UPDATE uri SET rank = 0 WHERE pool = ? AND rank IS NULL",
}
SOME_OF_POOL = (
    "SELECT id, uri FROM uri WHERE pool = ? AND id > ? AND id NOT IN (SELECT id FROM lease) "
    "ORDER BY id LIMIT 1000"
)


class Register:
    """`counts` holds, as the file does, how many are in each pool (leased ones where they wait),
    what each stage has brought to an end, and what the job counts."""

    def __init__(self, path: Path, stages: Iterable[Stage]) -> None:
        self.path = path
        self.leases = 0
        self._stages = {stage.waiting: stage for stage in stages}
        self._db = open_state(path)
        self._checkpointer = Checkpointer(path, CHECKPOINT_EVERY)
        with self._stop_if_unwritable():
            self._marks = Marks(self._db)
        self.ids = self._declare_pools()
        self.counts = self._count()
        self._give_up_killers()

    def close(self) -> None:
        """Everything is on the disk. If it is not, SQLite itself would not tell."""
        self._checkpointer.close()
        try:
            self.make_durable()
        finally:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        before, changes = self.counts.copy(), self._db.total_changes
        with self._stop_if_unwritable():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._write_tally(self.counts)
                self._db.execute("COMMIT")
            except BaseException:
                self.counts = before
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._marks.recount()
                raise
        with self._stop_if_unwritable():
            self._checkpointer.written(self._db.total_changes - changes, self._db)

    # --- inside a transaction --------------------------------------------------------------

    def insert(self, pool: str, uris: list[tuple[str, int | None, int]]) -> None:
        """URIs with rank and depth; those that are known already stay where they are."""
        self.counts[pool] += self._db.execute(INSERT, (self.ids[pool], as_json(uris))).rowcount

    def insert_and_read(self, pool: str, uris: list[tuple[str, int | None, int]]) -> list[Row]:
        returning = f"{INSERT} RETURNING coalesce(rank, 0), id, uri, depth, attempts"
        rows: list[Row] = self._db.execute(returning, (self.ids[pool], as_json(uris))).fetchall()
        self.counts[pool] += len(rows)
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
        self._db.execute(RELEASE, (ids,))
        self._marks.clear(ids)
        self._db.execute(LEAVE, (self.ids[to], rank, attempts, not_before, reason, failed_in, ids))
        self.counts[waited] -= len(tasks)
        self.counts[to] += len(tasks)
        if to != waited:
            self.counts[tasks[0].stage.done] += len(tasks)

    def promote(self, pool: str) -> list[Row]:
        """Delayed URIs whose time has come (or whose time a clock jump made absurd) are ready."""
        now = time.time()
        values = (self.ids[pool], now, now + LONGEST_DELAY_S)
        return self._db.execute(PROMOTE, values).fetchall()

    def bring_forward(self, seconds: float) -> None:
        """The clock was set back by so much: every delay ends when it would have ended."""
        self._db.execute(BRING_FORWARD, (seconds,))

    def revive(self, reason: str) -> dict[str, int]:
        """What failed for such a reason waits again; how many, by waiting pool."""
        revived = {}
        for pool, stage in self._stages.items():
            count = self._db.execute(REVIVE, (self.ids[pool], reason)).rowcount
            self._db.execute(SET_RANK[stage.order], (self.ids[pool],))
            revived[pool] = count
            self.counts["failed"] -= count
            self.counts[pool] += count
            self.counts[stage.done] -= count
        return revived

    def count_up(self, numbers: Mapping[str, int]) -> None:
        for name, number in numbers.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def write(self, statement: str, *rows: Sequence[object]) -> None:
        """This and `read` are for what lies beside the pools in the same file."""
        self._db.executemany(statement, rows)

    # --- without one -----------------------------------------------------------------------

    def named(self, stage: Stage, uris: Sequence[str], count: int) -> list[Row]:
        """Those of these URIs that wait, delayed or not."""
        return self._db.execute(NAMED, (self.ids[stage.waiting], as_json(uris), count)).fetchall()

    def make_ready(self, rows: Sequence[Row]) -> None:
        """They are delayed no longer."""
        with self._stop_if_unwritable():
            self._db.execute(MAKE_READY, (as_json([row[1] for row in rows]),))

    def lease(self, tasks: Sequence[Task]) -> None:
        """Of one stage; their tokens follow one another."""
        values = (tasks[0].stage.name, tasks[0].token, as_json([task.id for task in tasks]))
        with self._stop_if_unwritable():
            self._db.execute(LEASE, values)
        self.leases += len(tasks)

    def write_through(self, statement: str, *values: object) -> list[Any]:
        """As `write`, and on the disk when this returns."""
        with self._stop_if_unwritable():
            self._db.execute("PRAGMA synchronous = FULL")
            try:
                return self._db.execute(statement, values).fetchall()
            finally:
                self._db.execute("PRAGMA synchronous = NORMAL")

    def make_durable(self) -> None:
        """Everything so far is on the disk, and the log is empty."""
        with self._stop_if_unwritable():
            self._checkpointer.written(0, self._db)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def snapshot(self, keep: int) -> Path:
        """From any thread, beside everything else."""
        with self._checkpointer.at_rest():
            return snapshot(self.path, keep)

    def read(self, question: str) -> list[Any]:
        return self._db.execute(question).fetchall()

    def pool_of(self, uri: str) -> str | None:
        row = self._db.execute(POOL_OF, (uri,)).fetchone()
        return row[0] if row else None

    def some_of(self, pool: str, last_id: int) -> list[tuple[int, str]]:
        """The next thousand of a pool, with their ids."""
        return self._db.execute(SOME_OF_POOL, (self.ids[pool], last_id)).fetchall()

    def ready(self, stage: Stage, last_id: int) -> list[Row]:
        """The next ready rows: of a fifo those after the last one seen, else the best of all."""
        pool = self.ids[stage.waiting]
        if stage.order == "fifo":
            return self._db.execute(OLDEST, (pool, last_id, SIZE)).fetchall()
        return self._db.execute(RANKED, (pool, SIZE)).fetchall()

    def marked(self, stage: Stage, count: int) -> list[Marked]:
        """The next of those that were at work when a process died."""
        return self._marks.next(stage, self.ids[stage.waiting], count)

    def earliest_due(self, pool: str) -> float | None:
        (earliest,) = self._db.execute(
            "SELECT min(not_before) FROM uri WHERE pool = ? AND not_before > 0", (self.ids[pool],)
        ).fetchone()
        return earliest  # type: ignore[no-any-return]

    def is_delayed_above(self, pool: str, rank: int) -> bool:
        return self._db.execute(UNFINISHED_ABOVE, (self.ids[pool], rank)).fetchone() is not None

    # --- inside ----------------------------------------------------------------------------

    @contextmanager
    def _stop_if_unwritable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StopHarvest(
                f"the state cannot be written ({error}): fix this, then start again"
            ) from error

    def _declare_pools(self) -> dict[str, int]:
        """Every pool this job knows has a row; what a dead process held waits again."""
        with self._stop_if_unwritable():
            for stage in self._stages.values():
                for name in (stage.waiting, stage.active):
                    self._db.execute("INSERT OR IGNORE INTO pool (name) VALUES (?)", (name,))
            self._marks.take_back()
            in_order_of_life = f"SELECT name, id FROM pool ORDER BY id <= {FAILED}, id"
            ids = dict(self._db.execute(in_order_of_life))
            for stage in self._stages.values():
                self._db.execute(SET_RANK[stage.order], (ids[stage.waiting],))
            return ids

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
        names = {id_: name for name, id_ in self.ids.items()}
        counts = done | recorded | dict.fromkeys(self.ids, 0)
        for id_, count in self._db.execute("SELECT pool, count(*) FROM uri GROUP BY pool"):
            counts[names[id_]] = count
        if counts != recorded:
            with self._stop_if_unwritable():
                self._write_tally(counts)
        return counts

    def _write_tally(self, counts: Mapping[str, int]) -> None:
        self._db.execute("UPDATE tally SET counts = ?", (as_json(counts),))


def as_json(value: object) -> str:
    """Lists go to SQLite as one value: a statement for each element would cost far more."""
    return orjson.dumps(value).decode()
