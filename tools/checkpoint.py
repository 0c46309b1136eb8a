"""Carries SQLite's write-ahead log into its file beside the writer.

SQLite would do it inside somebody's transaction, with every other one waiting for the disk. Here a
thread does the bulk; the writer itself adds only the few pages written meanwhile, after which the
log begins again at its start and does not grow for ever.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Event, Thread

CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"


class Checkpointer(Thread):
    """For one writer, whose connection must have `wal_autocheckpoint = 0`."""

    def __init__(self, path: Path, every_rows: int) -> None:
        super().__init__(name=f"checkpoint {path.name}", daemon=True)
        self.path = path
        self._every_rows = every_rows
        self._rows = 0
        self._due = Event()
        self._is_bulk_done = False
        self._error: sqlite3.Error | None = None
        self._is_closing = False
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.start()

    def written(self, rows: int, db: sqlite3.Connection) -> None:
        """Told by the writer between two transactions. Raises what went wrong meanwhile: what a
        disk refused once it may forget, and a second try would seem to succeed."""
        if self._error is not None:
            raise self._error
        if self._is_bulk_done:
            self._is_bulk_done = False
            db.execute(CHECKPOINT)
        self._rows += rows
        if self._rows >= self._every_rows:
            self._rows = 0
            self._due.set()

    def run(self) -> None:
        while self._due.wait() and not self._is_closing:
            self._due.clear()
            try:
                self._db.execute(CHECKPOINT)
                self._is_bulk_done = True
            except sqlite3.Error as error:
                self._error = error
                return

    def close(self) -> None:
        self._is_closing = True
        self._due.set()
        self.join()
        self._db.close()
