"""The table of pages in PostgreSQL.

Promise: a server that goes away is `Unavailable` and spends nobody's attempt; when it is back the
next call connects anew. Each wait has a deadline, of which the server is told, too. Limit: whether
a commit was made that was cut off nobody knows; the same records again change nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import psycopg

from ..base.credentials import hidden
from ..errors import Unavailable, Unreachable, UsageError
from ..tables.postgres import postgres_error, postgres_settings
from .schema import SCHEMA, require_own
from .sql_reading import Row
from .sql_table import SqlTable
from .statements import MOMENTS, Dialect
from .table import PATHS_KEPT

SHOWN = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
DIALECT = Dialect(
    {
        "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "key": "bigint PRIMARY KEY",
        "name": 'text COLLATE "C"',  # sorted as SQLite does
        "text": "text",
        "int": "bigint",
        "real": "double precision",
        "moment": "timestamptz",
        "blob": "bytea",
        "strict": "",
        "keyed": "",
        "each": "jsonb_array_elements(CAST(:rows AS jsonb)) AS each (value)",
        "element": "value #>> '{}'",
        "members": "(SELECT key, CAST(value AS bigint) AS number "
        "FROM jsonb_each_text(CAST(:rows AS jsonb))) AS member",
        **{name: f"to_char({name} AT TIME ZONE 'UTC', '{SHOWN}')" for name in MOMENTS},
    },
    mark=r"%(\1)s",
)
COLUMNS = """SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema()"""
PAGE_WORDS = """INSERT INTO page_words
    SELECT * FROM unnest(CAST(%s AS bigint[]), CAST(%s AS bytea[]))
    ON CONFLICT (page) DO UPDATE SET counts = excluded.counts"""


class PostgresPages(SqlTable):
    def __init__(
        self, address: str, password: str, writable: bool = True, paths_kept: int = PATHS_KEPT
    ) -> None:
        """One that is only read is there already."""
        super().__init__(hidden(address), paths_kept)
        self._settings = postgres_settings(address, password)
        self._writer = Connection(self.name, self._settings)
        self._reader = Connection(self.name, self._settings)
        try:
            self._prepare(writable)
        except BaseException as error:
            self.close()
            if isinstance(error, Unavailable):
                raise Unreachable(str(error)) from error
            raise

    def _prepare(self, writable: bool) -> None:
        there = self._reader.ask(COLUMNS)
        require_own(self.name, there)
        if writable:
            with self._writer.transaction():
                for statement in DIALECT.said(SCHEMA).split(";\n"):
                    if statement.strip():
                        self._writer.run(statement)
        elif "pages" not in {table for table, _ in there}:
            raise UsageError(f"{self.name} has no table of pages")

    def close(self) -> None:
        self._writer.close()
        self._reader.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._writer.transaction():
            yield

    def _run(self, statement: str, **values: object) -> list[Row]:
        return self._writer.run(DIALECT.said(statement), values)

    def _ask(self, statement: str, **values: object) -> list[Row]:
        return self._reader.ask(DIALECT.said(statement), values)

    def _store_page_words(self, counts: Sequence[tuple[int, bytes]]) -> None:
        if counts:
            pages, packed = zip(*counts, strict=True)
            self._writer.run(PAGE_WORDS, [list(pages), list(packed)])


class Connection:
    """To one server, for one thread at a time; made when it is needed, and anew when it broke."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self._name = name
        self._settings = settings
        self._turn = Lock()
        self._db: psycopg.Connection[Row] | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._turn, self._explained(), self._connected().transaction():
            yield

    def run(self, statement: str, values: Any = None) -> list[Row]:
        """Inside a transaction: one that broke is not begun anew amid it."""
        cursor = self._open().execute(statement, values, prepare=values is not None)
        return cursor.fetchall() if cursor.description else []

    def ask(self, statement: str, values: Any = None) -> list[Row]:
        with self._turn, self._explained():
            return self._connected().execute(statement, values, prepare=True).fetchall()

    def _open(self) -> psycopg.Connection[Row]:
        if self._db is None:
            raise psycopg.InterfaceError("no transaction has begun")
        return self._db

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connected(self) -> psycopg.Connection[Row]:
        if self._db is None or self._db.closed:
            self._db = psycopg.connect(**self._settings, autocommit=True)
        return self._db

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the driver raises, as what to do next."""
        try:
            yield
        except psycopg.Error as error:
            raise postgres_error(error, self._name) from error
