"""Results that were sent and not answered yet, on a node's disk where files belong to them.

Promise: a file that the graph may know of is in a node's books or in here, over any crash. What is
in here is sent again until it is answered. Limit: files belong to one stage of a job.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ..base.sqlite import writing
from ..errors import StopHarvest
from .messages import Result
from .wire import Malformed, decoded, encoded

CACHE_KB = 1024
TABLE = """CREATE TABLE IF NOT EXISTS pending (
    uri TEXT PRIMARY KEY, message BLOB NOT NULL
) WITHOUT ROWID, STRICT"""
KEEP = "INSERT OR REPLACE INTO pending VALUES (?, ?)"


class Pending:
    """Any thread may use it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = Lock()
        with self._written():
            self._db = writing(file, CACHE_KB)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(TABLE)

    def keep(self, result: Result) -> None:
        """On the disk when this returns."""
        content = encoded(result)
        with self._lock, self._written():
            self._db.execute(KEEP, (result.uri, content))

    def forget(self, uri: str) -> None:
        with self._lock, self._written():
            self._db.execute("DELETE FROM pending WHERE uri = ?", (uri,))

    def all(self) -> Iterator[Result]:
        """What was not answered when this was last open."""
        with self._lock:
            rows = self._db.execute("SELECT message FROM pending").fetchall()
        for (content,) in rows:
            try:
                message = decoded(content)
            except Malformed:
                continue  # of another version: its task is done again, and its files go then
            if isinstance(message, Result):
                yield message

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StopHarvest(
                f"{self._file} cannot be written ({error}): fix this, then start again"
            ) from error
