"""What changes in a table whose columns have other options than before.

Promise: a column that may be empty now, or that the mapping has no more, takes rows without it. One
that must have a value now, or has another DEFAULT, has so in the rows to come; those that are there
stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import IntegrityError

from ..errors import UsageError
from .database import Database
from .declared import Table
from .making import column_of, drop_index, make_index, make_unique

Note = Callable[[Table, str], None]


class Alteration:
    """Inside one transaction."""

    def __init__(self, database: Database, db: Connection, note: Note, remedy: str) -> None:
        self._database = database
        self._db = db
        self._note = note
        self._remedy = remedy

    def __call__(self, table: Table, before: Table) -> list[str]:
        if table.source_column not in self._indexes(table):  # a start was killed just before
            make_index(self._database, self._db, table, table.source_column)
        required = self._required(table)
        lost = [name for name in before.columns if name not in table.columns and name in required]
        optional = [name for name in table.columns if not table.option(name).is_required]
        free = [name for name in optional if name in required and name not in table.key]
        return [
            *(self._relaxed(before, name) for name in lost),
            *(self._relaxed(table, name) for name in free),
            *self._uniqueness(table),
            *self._rows_to_come(table, before),
        ]

    def _uniqueness(self, table: Table) -> Iterator[str]:
        unique = self._unique(table)
        for name in table.columns:
            is_unique = table.option(name).is_unique and table.key != (name,)
            if is_unique and name not in unique:
                yield self._said(table, f"column {table.name}.{name} made UNIQUE")
                self._make_unique(table, name)
            if name in unique and not is_unique:
                yield self._said(table, f"column {table.name}.{name} no longer UNIQUE")
                drop_index(self._database, self._db, table, unique[name])

    def _make_unique(self, table: Table, name: str) -> None:
        try:
            make_unique(self._database, self._db, table, name)
        except IntegrityError:
            raise UsageError(
                f"column {table.name}.{name} cannot become UNIQUE, it has equal values: "
                f"{self._remedy}"
            ) from None

    def _rows_to_come(self, table: Table, before: Table) -> Iterator[str]:
        for name in filter(before.columns.__contains__, table.columns):
            old, new, wanted = before.option(name), table.option(name), table.columns[name]
            if new.is_required and not old.is_required:
                yield self._said(table, f"column {table.name}.{name} NOT NULL in rows to come")
            if wanted.fitted(new.default) != wanted.fitted(old.default):
                yield self._said(table, f"column {table.name}.{name} has another DEFAULT")

    def _relaxed(self, table: Table, name: str) -> str:
        """Without its index meanwhile, where the column is made anew."""
        said = self._said(table, f"column {table.name}.{name} may be NULL")
        index = self._unique(table).get(name)
        if index is not None:
            drop_index(self._database, self._db, table, index)
        column = column_of(self._database, table, name, may_be_empty=True)
        self._database.relax(self._db, table.name, column)
        if index is not None:
            make_unique(self._database, self._db, table, name)
        return said

    def _said(self, table: Table, said: str) -> str:
        self._note(table, said)
        return said

    def _required(self, table: Table) -> set[str]:
        columns = inspect(self._db).get_columns(table.name)
        return {each["name"] for each in columns if not each["nullable"]}

    def _unique(self, table: Table) -> dict[str, str]:
        return self._indexes(table, is_unique=True)

    def _indexes(self, table: Table, is_unique: bool = False) -> dict[str, str]:
        """Their names by the column they are of."""
        return {
            str(each["column_names"][0]): str(each["name"])
            for each in inspect(self._db).get_indexes(table.name)
            if bool(each["unique"]) is is_unique and len(each["column_names"]) == 1
        }
