"""Which harvests an embedded graph knows, and which of them write into it now.

Promise: a graph that was lost, emptied or replaced does not know its harvest, and nobody empties it
while one writes. Who writes holds a file beside the graph, together with others; who empties it
holds that file alone. It is not the graph's own file, where SQLite has its locks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..base.locks import locked, remove_unless_shared
from ..base.place import gone
from ..base.sqlite import reading
from ..errors import AlreadyRunning, StopHarvest, Unavailable

RUN = "run INTEGER NOT NULL DEFAULT 0"
SCHEMA = f"CREATE TABLE IF NOT EXISTS harvest (id TEXT PRIMARY KEY, {RUN}) WITHOUT ROWID, STRICT"
ADMIT = """INSERT INTO harvest (id, run) VALUES (?, ?)
    ON CONFLICT (id) DO UPDATE SET run = max(run, excluded.run)"""
DELETE = "DELETE FROM harvest"


class SqliteMembers:
    """With connections of its own, so that any thread may ask."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = path.with_name(f"{path.name}-lock")

    def known(self) -> dict[str, int]:
        with closing(reading(self._path)) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'harvest'").fetchone():
                return {}  # of an earlier version
            rows = db.execute("SELECT * FROM harvest ORDER BY id")  # one of those has no runs
            return {harvest: run[0] if run else 0 for harvest, *run in rows}

    def admit(self, harvest: str, run: int = 0) -> None:
        try:
            with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
                # After a power cut the state must not know of a run that the graph has lost.
                db.execute("PRAGMA synchronous = FULL")
                db.execute(SCHEMA)
                if len(db.execute("PRAGMA table_info(harvest)").fetchall()) == 1:
                    db.execute(f"ALTER TABLE harvest ADD COLUMN {RUN}")
                db.execute(ADMIT, (harvest, run))
        except sqlite3.OperationalError as error:
            raise StopHarvest(f"the graph {self._path} cannot be written: {error}") from error

    def confirm(self, harvest: str) -> None:
        try:
            is_known = harvest in self.known()
        except sqlite3.Error as error:
            if self._path.exists():
                raise Unavailable(f"the graph {self._path} cannot be read: {error}") from error
            is_known = False
        if not is_known:
            raise gone(self._path)

    @contextmanager
    def at_work(self, _harvest: str) -> Iterator[None]:
        refusal = f"{self._path} is being emptied: start again when that is done"
        with self._held(refusal, shared=True):
            yield

    @contextmanager
    def nobody_at_work(self) -> Iterator[None]:
        refusal = (
            f"a harvest writes into {self._path}: stop it (python main.py stop), then try again"
        )
        with self._held(refusal):
            yield

    @contextmanager
    def _held(self, refusal: str, shared: bool = False) -> Iterator[None]:
        name = f"the graph {self._path}"
        with locked(self._lock, name, shared) as lock:
            if lock is None:
                raise AlreadyRunning(refusal)
            try:
                yield
            finally:
                remove_unless_shared(lock, self._lock, name)
