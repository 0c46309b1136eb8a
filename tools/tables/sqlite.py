"""Tables in a file of SQLite. Several processes may write it in turns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, create_engine, event, types
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from ..base.checkpoint import CHECKPOINT, Checkpointer
from ..base.place import Place
from ..base.sqlite import reading, writing
from ..errors import GiveUp, StateDamaged, StopHarvest, Unavailable
from .database import READERS, TYPES, Database

CACHE_KB = 16_384
CHECKPOINT_EVERY = 4000  # rows; a long log makes every page dear to find
PATIENCE_MS = 10_000  # while another process writes


class SqliteDatabase(Database):
    errors = (SQLAlchemyError, sqlite3.Error)
    mark = "?"
    # SQLite holds no value to its type, so a wider one needs no change; but a JSON that is a number
    # would become one.
    column_types = TYPES | {"json": types.Text()}

    def __init__(self, path: Path, writable: bool) -> None:
        self._path = path
        self._checkpointer: Checkpointer | None = None
        self._place: Place | None = None
        reader = _engine(lambda: _patient(reading(path, any_thread=True)), READERS)
        super().__init__(f"the database {path}", self._open() if writable else None, reader)

    def _open(self) -> Engine:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StopHarvest(f"the database {self._path} cannot be made: {error}") from error
        engine = _engine(lambda: _patient(writing(self._path, CACHE_KB)), 1)
        event.listen(engine, "begin", lambda db: db.exec_driver_sql("BEGIN IMMEDIATE"))
        return engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One at a time, with what follows it; never into a file that was moved or removed."""
        with self._turn:
            with super().transaction() as db:
                self._check_place()
                raw: Any = db.connection.driver_connection
                changes = raw.total_changes
                yield db
            with self._obeyed():
                if self._checkpointer is None:
                    self._checkpointer = Checkpointer(self._path, CHECKPOINT_EVERY)
                self._checkpointer.written(raw.total_changes - changes, raw)

    def _check_place(self) -> None:
        if self._place is None:
            self._place = Place(self._path, name=self._path)
        self._place()

    def close(self) -> None:
        """What was written is in the file, not only in its log. Whoever only reads cannot bring it
        there, so the writer goes last."""
        self._reader.dispose()
        try:
            if self._checkpointer is not None and self._writer is not None:
                self._checkpointer.close()
                with self._obeyed(), closing(self._writer.raw_connection()) as db:
                    db.driver_connection.execute(CHECKPOINT)  # type: ignore[union-attr]
        finally:
            super().close()

    def relax(self, db: Connection, table: str, column: Column[Any]) -> None:
        """By another column that takes its place."""
        place, old, new = map(self.quoted, (table, column.name, f"_new {column.name}"))
        kind = column.type.compile(self.dialect)
        db.exec_driver_sql(f"ALTER TABLE {place} ADD COLUMN {new} {kind}")
        db.exec_driver_sql(f"UPDATE {place} SET {new} = {old}")
        db.exec_driver_sql(f"ALTER TABLE {place} DROP COLUMN {old}")
        db.exec_driver_sql(f"ALTER TABLE {place} RENAME COLUMN {new} TO {old}")

    def is_mistake(self, error: Exception) -> bool:
        """SQLite has one name for what is wrong with a statement and with the file."""
        said = str(getattr(error, "orig", ""))
        return (
            super().is_mistake(error)
            or said.startswith(("no such", "attempt to write"))
            or any(each in said for each in ("syntax error", "incomplete input", "no tables"))
        )

    def explained(self, error: Exception) -> Exception:
        said = str(error)
        if isinstance(error, sqlite3.IntegrityError):
            return GiveUp(f"{self.name} does not take these rows: {said}")
        if said.startswith("no such"):
            return StateDamaged(f"{self.name} has lost something ({said}): bring it back")
        if isinstance(error, sqlite3.OperationalError):
            if "locked" in said or "busy" in said:
                return Unavailable(f"{self.name} is being written by somebody else for too long")
            return StopHarvest(
                f"{self.name} cannot be written ({said}): fix this, then start again"
            )
        if isinstance(error, sqlite3.DatabaseError):
            return StateDamaged(f"{self.name} is damaged or no database: {said}")
        return error


def _engine(creator: Any, size: int) -> Engine:
    return create_engine(
        "sqlite://", creator=creator, poolclass=QueuePool, pool_size=size, hide_parameters=True
    )


def _patient(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
    return db
