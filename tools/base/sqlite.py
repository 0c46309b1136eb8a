"""SQLite files as the pools and the embedded graph use them: one writes, anybody reads meanwhile.

Promise: `kill -9` loses nothing that was committed, power loss the last moments. Readers and the
writer never wait for each other. A transaction is all or nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StopHarvest

STATEMENTS = 128  # kept ready to be asked again, as Python does if it is not told otherwise


def reading(path: Path, any_thread: bool = False) -> sqlite3.Connection:
    """Nothing is changed, and nobody held up. Threads may share it: SQLite has them take turns, but
    two that ask in the same words would share a statement that Python keeps, and from Python 3.12
    on one of them then gets the other's answer. So none is kept for them."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=not any_thread,
        cached_statements=0 if any_thread else STATEMENTS,
    )


def is_damage(error: Exception) -> bool:
    """Is it the file that is spoilt, and not the question or the moment?"""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # what is above says where in the file
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def writing(path: Path, cache_kb: int) -> sqlite3.Connection:
    """For one writer, whose log a Checkpointer carries over."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()  # readers never wait
    if mode != "wal":  # SQLite keeps to itself what went wrong
        db.close()
        raise sqlite3.OperationalError("no log can be kept beside it")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA cache_size = -{cache_kb}")
    db.execute("PRAGMA temp_store = MEMORY")  # else each larger statement writes a file of its own
    db.execute("PRAGMA wal_autocheckpoint = 0")  # a Checkpointer does it where nobody waits
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # else SQLite has rolled it back by itself
            db.execute("ROLLBACK")
        raise


@contextmanager
def stop_if_unwritable(name: str) -> Iterator[None]:
    """What a disk refuses ends the harvest with a sentence; `name` is what could not be written."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StopHarvest(
            f"{name} cannot be written ({error}): fix this, then start again"
        ) from error
