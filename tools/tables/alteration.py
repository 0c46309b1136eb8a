"""What changes in a table whose columns have other options than before.

Promise: a column that may be empty now, or that the mapping has no more, takes rows without it. One
that must have a value now, or has another DEFAULT, has so in the rows to come; those that are there
stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, inspect

from .database import Database
from .declared import Table
from .making import column_of, drop_index, make_unique

Note = Callable[[Table, str], None]


class Alteration:
    """Inside one transaction."""

    def __init__(self, database: Database, db: Connection, note: Note) -> None:
        self._database = database
        self._db = db
        self._note = note

    def __call__(self, table: Table, before: Table) -> list[str]:
        return [*self._lost_columns(table, before), *self._options(table, before)]

    def _lost_columns(self, table: Table, before: Table) -> Iterator[str]:
        required = self._required(table)
        for name in before.columns:
            if name not in table.columns and name in required:
                yield self._relaxed(before, name)

    def _options(self, table: Table, before: Table) -> Iterator[str]:
        required, unique = self._required(table), self._unique(table)
        for name in table.columns:
            old, new = before.option(name), table.option(name)
            if name in required and not new.is_required and name not in table.key:
                yield self._relaxed(table, name)
            if new.is_unique and name not in unique and table.key != (name,):
                yield self._said(table, f"column {table.name}.{name} made UNIQUE")
                make_unique(self._database, self._db, table, name)
            if name in unique and not new.is_unique:
                yield self._said(table, f"column {table.name}.{name} no longer UNIQUE")
                drop_index(self._database, self._db, table, unique[name])
            if name in before.columns and new.is_required and not old.is_required:
                yield self._said(table, f"column {table.name}.{name} NOT NULL in rows to come")
            if name in before.columns and new.default != old.default:
                yield self._said(table, f"column {table.name}.{name} has another DEFAULT")

    def _relaxed(self, table: Table, name: str) -> str:
        said = self._said(table, f"column {table.name}.{name} may be NULL")
        column = column_of(self._database, table, name, may_be_empty=True)
        self._database.relax(self._db, table.name, column)
        return said

    def _said(self, table: Table, said: str) -> str:
        self._note(table, said)
        return said

    def _required(self, table: Table) -> set[str]:
        columns = inspect(self._db).get_columns(table.name)
        return {each["name"] for each in columns if not each["nullable"]}

    def _unique(self, table: Table) -> dict[str, str]:
        """Names of indexes by the column they are of."""
        indexes = inspect(self._db).get_indexes(table.name)
        return {
            str(each["column_names"][0]): str(each["name"])
            for each in indexes
            if each["unique"] and len(each["column_names"]) == 1
        }
