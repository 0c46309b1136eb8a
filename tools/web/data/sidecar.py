"""`search.db` beside the state: what a page must find at once and the graph has no index for.

Concepts by their names, files by what a gallery filters. It is made of the graph alone, so it may
be deleted at any time; a damaged or older one is made anew, also if the damage shows only while it
is read or grows. The graph itself is only read.

Promise: one step reads and writes some thousand rows, so nobody waits for the million that may
follow. Two processes that keep the same file do so together.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from ...base.sqlite import is_damage, reading
from ...errors import StopHarvest

NAME = "search.db"
VERSION = 2
CACHE_KB = 16_384
BUSY_MS = 5_000

SCHEMA = """
CREATE TABLE concept (
    id INTEGER PRIMARY KEY,
    uri TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    degree INTEGER NOT NULL,
    folded TEXT NOT NULL        -- the name as a search compares it
) STRICT;
CREATE INDEX concept_by_one ON concept (substr(folded, 1, 1), degree DESC, language);
CREATE INDEX concept_by_two ON concept (substr(folded, 1, 2), degree DESC, language);
CREATE INDEX concept_folded ON concept (folded, degree, language);
CREATE VIRTUAL TABLE word USING fts5 (
    words, content = '', columnsize = 0, prefix = '1 2 3',
    tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TABLE bucket (           -- files that no filter tells apart
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    provider TEXT NOT NULL,
    licence TEXT NOT NULL,
    language TEXT NOT NULL,
    type TEXT NOT NULL,         -- of the relation that is shown; empty for a concept
    size TEXT NOT NULL,
    remark TEXT NOT NULL,       -- "yes" if its provider asks something of those who use it
    number INTEGER NOT NULL,
    UNIQUE (kind, provider, licence, language, type, size, remark)
) STRICT;
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    bucket INTEGER NOT NULL,
    fetched INTEGER NOT NULL,   -- seconds
    hash INTEGER NOT NULL       -- the beginning of its SHA-256
) STRICT;
CREATE INDEX file_bucket ON file (bucket, fetched, id);
CREATE INDEX file_fetched ON file (fetched, id);
CREATE INDEX file_hash ON file (hash);
CREATE TABLE pass (             -- how far the graph is read
    what TEXT PRIMARY KEY,
    after TEXT NOT NULL,
    mark TEXT NOT NULL,         -- the graph when this pass began
    whole TEXT NOT NULL         -- and when the last complete one began
) WITHOUT ROWID, STRICT;
"""

log = logging.getLogger(__name__)
T = TypeVar("T")


class Sidecar:
    """One connection to write, one to read; any thread may use both."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writing = Lock()
        self._open()

    def _open(self) -> None:
        try:
            self.db = _writable(self.path)
            self.reading = reading(self.path, any_thread=True)
            self.reading.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        except (sqlite3.Error, OSError) as error:
            raise StopHarvest(
                f"{self.path} cannot be written ({error}): make room or give it a folder that"
                " can be written"
            ) from error
        self.file = _number(self.path)  # which one it is, of all that there were

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.read(lambda db: db.execute(query, values).fetchall())

    def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Of a damaged one nothing: the new one has to grow first."""
        file = self.file
        try:
            return question(self.reading)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self.renew(file)
            return question(self.reading)

    def renew(self, damaged: int) -> None:
        """Unless somebody has, here or in another process. Whoever reads the old one still ends
        that: it is closed with the last of them."""
        with self.writing:
            if damaged == self.file:
                log.warning("%s is damaged: it is made anew from the graph", self.path)
                self.db.close()
                if _number(self.path) == damaged:
                    remove(self.path)
                self._open()

    def close(self) -> None:
        self.reading.close()
        self.db.close()


def _writable(path: Path) -> sqlite3.Connection:
    """One that is spoilt is made anew: it holds nothing that the graph does not."""
    try:
        return _connected(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        remove(path)
        return _connected(path)


def _number(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0


def remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # what a power cut spoils is made anew
        db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        db.execute("PRAGMA temp_store = MEMORY")
        _prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if version != VERSION and tables:
        raise sqlite3.DatabaseError("of another version")
    if version != VERSION:
        db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
