"""Carries SQLite's write-ahead log into its file beside the writer.

SQLite would do it inside somebody's transaction, with every other one waiting for the disk. Here a
thread does it. The log begins again at its start when nothing is left to carry over; under steady
load that never happens by itself, so when it has become long the writer adds the few pages that
were written meanwhile, and waits for the disk that once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

LARGEST_LOG = 128_000_000  # bytes; after a kill so much is read at the next start
CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"


class Checkpointer(Thread):
    """For one writer, whose connection must have `wal_autocheckpoint = 0`."""

    def __init__(self, path: Path, every_rows: int) -> None:
        super().__init__(name=f"checkpoint {path.name}", daemon=True)
        self.path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._every_rows = every_rows
        self._rows = 0
        self._due = Event()
        self._is_bulk_done = False
        self._error: sqlite3.Error | None = None
        self._is_closing = False
        self._is_at_rest = False
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.start()

    def written(self, rows: int, db: sqlite3.Connection) -> None:
        """Called by the writer between two transactions. Raises what went wrong meanwhile: what a
        disk refused once it may forget, and a second try would seem to succeed."""
        if self._error is not None:
            raise self._error
        if self._is_bulk_done and not self._is_at_rest:
            self._is_bulk_done = False
            if self._log_size() > LARGEST_LOG:
                db.execute(CHECKPOINT)
        self._rows += rows
        if self._rows >= self._every_rows:
            self._rows = 0
            self._due.set()

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:  # moved away; whoever watches the folder reports it
            return 0

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """While somebody copies the file the log cannot begin again, and the disk is busy: the
        writer would wait for it in vain."""
        self._is_at_rest = True
        try:
            yield
        finally:
            self._is_at_rest = False

    def run(self) -> None:
        while self._due.wait() and not self._is_closing:
            self._due.clear()
            try:
                self._db.execute(CHECKPOINT)
            except sqlite3.Error as error:
                self._error = error
                return
            # What fell due meanwhile waits: first the writer adds what it wrote, which SQLite would
            # refuse beside a checkpoint of ours, and the log would grow as long as the load lasts.
            self._due.clear()
            self._is_bulk_done = True
            if self._is_closing:
                return

    def close(self) -> None:
        self._is_closing = True
        self._due.set()
        self.join()
        self._db.close()
