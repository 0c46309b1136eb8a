"""The table of pages in a file of SQLite.

Promise: `kill -9` loses nothing that was committed; other processes can read the file at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ..base.checkpoint import Checkpointer
from ..base.sqlite import is_damage, reading, stop_if_unwritable, transaction, writing
from ..errors import GiveUp, StateDamaged, StopHarvest
from .schema import SCHEMA, require_own
from .sql_reading import Row
from .sql_table import SqlTable
from .statements import MOMENTS, Dialect
from .table import PATHS_KEPT

DIALECT = Dialect(
    {
        "serial": "INTEGER PRIMARY KEY",
        "key": "INTEGER PRIMARY KEY",
        "name": "TEXT",
        "text": "TEXT",
        "int": "INTEGER",
        "real": "REAL",
        "moment": "TEXT",
        "blob": "BLOB",
        "strict": " STRICT",
        "keyed": " STRICT, WITHOUT ROWID",
        "each": "json_each(:rows)",
        "element": "value",
        "members": "(SELECT key, value AS number FROM json_each(:rows))",
        **{name: name for name in MOMENTS},
    }
)
CACHE_KB = 32_768
CHECKPOINT_EVERY = 4000  # rows written
PAGE_WORDS = "INSERT OR REPLACE INTO page_words VALUES (?, ?)"
COLUMNS = "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"


class SqlitePages(SqlTable):
    def __init__(self, path: Path, writable: bool = True, paths_kept: int = PATHS_KEPT) -> None:
        """One that is only read is there already."""
        super().__init__(f"the table {path}", paths_kept)
        self._path = path
        self._writer: sqlite3.Connection | None = None
        self._checkpointer: Checkpointer | None = None
        self._turn, self._reader_turn = Lock(), Lock()
        try:
            if writable:
                self._open_to_write()
            self._reader = reading(path, any_thread=True)
            self._reader.execute("SELECT 1 FROM pages LIMIT 0")
        except (sqlite3.OperationalError, OSError) as error:
            self._end()
            raise StopHarvest(f"{self.name} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            self._end()
            raise StateDamaged(f"{self.name} is damaged or no table: {error}") from error
        except BaseException:
            self._end()
            raise

    def _open_to_write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = writing(self._path, CACHE_KB)
        require_own(self.name, self._writer.execute(COLUMNS))
        with transaction(self._writer):
            for statement in DIALECT.said(SCHEMA).split(";"):
                self._writer.execute(statement)
        self._checkpointer = Checkpointer(self._path, CHECKPOINT_EVERY)

    def _end(self) -> None:
        if self._checkpointer is not None:
            self._checkpointer.close()
        if self._writer is not None:
            self._writer.close()

    def close(self) -> None:
        """Everything is on the disk. If it is not, SQLite itself would not tell."""
        self._reader.close()
        if self._writer is None or self._checkpointer is None:
            return
        try:
            self._checkpointer.close()
            with stop_if_unwritable(self.name):
                self._checkpointer.written(0, self._writer)
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._writer.close()

    @property
    def _db(self) -> sqlite3.Connection:
        if self._writer is None:
            raise StopHarvest(f"{self.name} was opened to be read only")
        return self._writer

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._turn, stop_if_unwritable(self.name):
            changes = self._db.total_changes
            try:
                with transaction(self._db):
                    yield
            except sqlite3.IntegrityError as error:
                raise GiveUp(f"{self.name} does not take these records: {error}") from error
            if self._checkpointer is not None:
                self._checkpointer.written(self._db.total_changes - changes, self._db)

    def _run(self, statement: str, **values: object) -> list[Row]:
        return self._db.execute(DIALECT.said(statement), values).fetchall()

    def _ask(self, statement: str, **values: object) -> list[Row]:
        with self._reader_turn, self._explained():
            return self._reader.execute(DIALECT.said(statement), values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite says of a file that was spoilt since it was opened, as what to do next."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise StopHarvest(f"{self.name} cannot be read: {error}") from error
            raise StateDamaged(
                f"{self.name} is damaged ({error}): bring back a copy of it, or set it aside and "
                "crawl anew by --fresh"
            ) from error

    def _store_page_words(self, counts: Sequence[tuple[int, bytes]]) -> None:
        self._db.executemany(PAGE_WORDS, counts)
