"""A database as all kinds of them are used here: one connection that writes, others that read.

Promise: a transaction is all or nothing; what a driver raises becomes what to do next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

from sqlalchemy import Column, Connection, Dialect, Engine, Index, types
from sqlalchemy.exc import DBAPIError, ProgrammingError, SQLAlchemyError, StatementError
from sqlalchemy.types import Numeric, String, TypeEngine

from ..base.text import one_line
from ..errors import StopHarvest, UsageError
from .datatype import DataType
from .declared import Table

AT_ONCE = 500  # values in one condition
READERS = 8
TYPES: dict[str, TypeEngine[Any]] = {
    "text": types.Text(),
    "integer": types.Integer(),
    "bigint": types.BigInteger(),
    "double": types.Double(),
    "boolean": types.Boolean(),
    "date": types.Date(),
    "datetime": types.DateTime(),
    "time": types.Time(),
    "json": types.JSON(),
    "blob": types.LargeBinary(),
}
"""As most databases have them."""


Among = tuple[str, tuple[Any, ...]]


class Database(ABC):
    """Subclasses say how one kind of database is reached and written quickly."""

    errors: tuple[type[Exception], ...] = (SQLAlchemyError,)
    """What its driver raises, and SQLAlchemy."""
    mark = "%s"
    column_types = TYPES

    def __init__(self, name: str, writer: Engine | None, reader: Engine) -> None:
        self.name = name
        self._writer = writer
        self._reader = reader
        self._turn = RLock()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        if self._writer is None:
            raise StopHarvest(f"{self.name} was opened to be read only")
        with self._turn, self._obeyed(), self._writer.begin() as db:
            yield db

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._obeyed(), self._reader.connect() as db:
            yield db

    @contextmanager
    def _obeyed(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            driver_error = getattr(error, "orig", None) or error
            raise self.explained(driver_error) from error

    @abstractmethod
    def explained(self, error: Exception) -> Exception:
        """What a driver raised, as what to do next."""

    @contextmanager
    def understood(self, sql: str) -> Iterator[None]:
        """Around somebody's own query: what is wrong with it is said to him."""
        try:
            yield
        except StatementError as error:
            if getattr(error, "connection_invalidated", False) or not self.is_mistake(error):
                raise
            said = getattr(error, "orig", None) or error
            asked = one_line(sql)
            raise UsageError(f"{self.name} does not understand {asked!r}: {said}") from error

    def is_mistake(self, error: Exception) -> bool:
        """Of whoever wrote the statement."""
        return isinstance(error, ProgrammingError) or not isinstance(error, DBAPIError)

    def try_out(self) -> None:
        """Can it be reached?"""
        with self.reading() if self._writer is None else self.transaction():
            pass

    def close(self) -> None:
        for engine in (self._reader, self._writer):
            if engine is not None:
                engine.dispose()

    # --- names and types -------------------------------------------------------------------

    def text_of(self, column: str, wanted: DataType) -> str:
        """An expression of its text, where it is stored as something else."""
        return column

    @property
    def dialect(self) -> Dialect:
        return self._reader.dialect

    def quoted(self, name: str) -> str:
        return self.dialect.identifier_preparer.quote_identifier(name)

    table_options: Mapping[str, Any] = {}

    def shape_index(self, index: Index) -> None:  # noqa: B027
        """Of the column with what a row is from, whose texts may be long."""

    def compiled(self, wanted: DataType) -> str:
        return self.sql_type(wanted).compile(self.dialect)

    def sql_type(self, wanted: DataType) -> TypeEngine[Any]:
        """The type of a column in this database."""
        if wanted.kind == "varchar":
            return String(wanted.length)
        if wanted.kind == "decimal":
            return Numeric(wanted.length, wanted.decimals)
        if wanted.kind == "integer" and wanted.is_unsigned:  # few databases have a type of this
            return self.column_types["bigint"]
        return self.column_types[wanted.kind]

    def widen(self, db: Connection, table: str, column: Column[Any]) -> None:  # noqa: B027
        """The column, as it is described here, takes longer values from now on."""

    def comment(self, db: Connection, column: Column[Any]) -> None:  # noqa: B027
        """Beside the column, where that is no part of making the table."""

    @abstractmethod
    def relax(self, db: Connection, table: str, column: Column[Any]) -> None:
        """The column may be empty from now on."""

    # --- rows ------------------------------------------------------------------------------

    def among(self, column: str, values: Sequence[str]) -> Among:
        """A condition, and what stands in it."""
        marks = ", ".join([self.mark] * len(values))
        return f"{self.quoted(column)} IN ({marks})", tuple(values)

    def forget(
        self, db: Connection, table: str, column: str, sources: Sequence[str], *more: Among
    ) -> None:
        """The rows of these requests or documents go, of those that fulfil what is said more."""
        for at in range(0, len(sources), AT_ONCE):
            some = [self.among(column, sources[at : at + AT_ONCE]), *more]
            where = " AND ".join(condition for condition, _ in some)
            values = tuple(value for _, values in some for value in values)
            db.exec_driver_sql(f"DELETE FROM {self.quoted(table)} WHERE {where}", values)

    def put(self, db: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """By key, those that are there are replaced."""
        statement = f"{self.into(table)} VALUES ({self.marks(table)}){self.upsert(table)}"
        db.exec_driver_sql(statement, list(rows))

    def into(self, table: Table) -> str:
        return f"INSERT INTO {self.quoted(table.name)} ({self.columns(table)})"

    def columns(self, table: Table) -> str:
        return ", ".join(map(self.quoted, [*table.columns, *table.own_columns]))

    def marks(self, table: Table) -> str:
        return ", ".join([self.mark] * (len(table.columns) + len(table.own_columns)))

    def upsert(self, table: Table) -> str:
        if not table.key:
            return ""
        key = ", ".join(map(self.quoted, table.key))
        news = [f"{name} = excluded.{name}" for name in map(self.quoted, self.beside_key(table))]
        return f" ON CONFLICT ({key}) DO UPDATE SET {', '.join(news)}"

    def beside_key(self, table: Table) -> list[str]:
        return [name for name in [*table.columns, *table.own_columns] if name not in table.key]
