"""The file behind the pools: what a transaction is, and what is counted.

Promise: a transaction is all or nothing, on disk and in the counts. What cannot be written ends the
harvest. Limit: not for several threads at once; `Pools` has the lock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson

from ..base.checkpoint import Checkpointer
from ..base.sqlite import reading
from ..errors import StopHarvest
from ..journal.snapshots import open_state, snapshot
from .marks import Marks

CHECKPOINT_EVERY = 10_000  # rows written


class StateFile:
    """`counts` holds, as the file does, how many are in each pool (leased ones where they wait),
    what each stage has brought to an end, and what the job counts."""

    counts: dict[str, int]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_state(path)
        self._checkpointer = Checkpointer(path, CHECKPOINT_EVERY)
        self._marks = Marks(self._db)

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
        with self.stop_if_unwritable():
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
        with self.stop_if_unwritable():
            self._checkpointer.written(self._db.total_changes - changes, self._db)

    def count_up(self, numbers: Mapping[str, int]) -> None:
        for name, number in numbers.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def write(self, statement: str, *rows: Sequence[object]) -> None:
        """This and `read` are for what lies beside the pools in the same file."""
        self._db.executemany(statement, rows)

    def write_through(self, statement: str, *values: object) -> list[Any]:
        """As `write`, and on the disk when this returns."""
        with self.stop_if_unwritable():
            self._db.execute("PRAGMA synchronous = FULL")
            try:
                return self._db.execute(statement, values).fetchall()
            finally:
                self._db.execute("PRAGMA synchronous = NORMAL")

    def make_durable(self) -> None:
        """Everything so far is on the disk, and the log is empty."""
        with self.stop_if_unwritable():
            self._checkpointer.written(0, self._db)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def snapshot(self, keep: int) -> Path:
        """From any thread, beside everything else."""
        with self._checkpointer.at_rest():
            return snapshot(self.path, keep)

    def read(self, question: str, *values: object) -> list[Any]:
        return self._db.execute(question, values).fetchall()

    def look(self, question: str, *values: object) -> list[Any]:
        """From any thread, beside everything else: for questions that take their time."""
        with closing(reading(self.path)) as db:
            return db.execute(question, values).fetchall()

    @contextmanager
    def stop_if_unwritable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StopHarvest(
                f"the state cannot be written ({error}): fix this, then start again"
            ) from error

    def _write_tally(self, counts: Mapping[str, int]) -> None:
        self._db.execute("UPDATE tally SET counts = ?", (as_json(counts),))


def as_json(value: object) -> str:
    """Lists go to SQLite as one value: a statement for each element would cost far more."""
    return orjson.dumps(value).decode()
