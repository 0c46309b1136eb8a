"""Tables made and extended as they are declared, and the list of those that are ours.

Promise: columns are added and widened, never dropped or narrowed; a table that somebody else made
is never touched, and one that was lost is never made anew silently. A start that was killed midway
is finished by the next.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

import orjson
from sqlalchemy import Column, Connection, Index, MetaData, inspect
from sqlalchemy import Table as SqlTable
from sqlalchemy.schema import CreateTable

from ..errors import StateDamaged, UsageError
from .batch import OWN
from .database import Database
from .datatype import DataType, datatype
from .declared import Table
from .names import shortened

LIST = Table(
    "_tables",
    {
        "name": DataType("varchar", 63),
        "columns": DataType("text"),
        "parts_of_key": DataType("text"),
        "owner": DataType("varchar", 200),
    },
    ("name",),
)
AGAIN = "start with --fresh, which keeps the old table under another name"


class Schema:
    """Inside one transaction."""

    def __init__(self, database: Database, db: Connection) -> None:
        self._database = database
        self._db = db
        self._there = set(inspect(db).get_table_names())

    def prepare(self, tables: Iterable[Table]) -> list[str]:
        """What was changed, a sentence each."""
        if LIST.name not in self._there:
            self._create(LIST, {})
        known = self.known()
        return [said for table in tables for said in self._prepare(table, known.get(table.name))]

    def known(self) -> dict[str, Table]:
        """Those that are ours, as they are."""
        if LIST.name not in self._there:
            return {}
        rows = self._ask("SELECT {name}, {columns}, {parts_of_key} FROM {_tables}")
        return {
            name: Table(
                name,
                {column: datatype(said) for column, said in orjson.loads(columns).items()},
                tuple(orjson.loads(key)),
            )
            for name, columns, key in rows
        }

    def owners(self, names: Iterable[str]) -> set[str]:
        if LIST.name not in self._there:
            return set()
        wanted = set(names)
        rows = self._ask("SELECT {name}, {owner} FROM {_tables}")
        return {owner for name, owner in rows if owner and name in wanted}

    def claim(self, owner: str, names: Iterable[str]) -> None:
        for name in names:
            self._run("UPDATE {_tables} SET {owner} = ? WHERE {name} = ?", owner, name)

    def set_aside(self, name: str, stamp: str) -> str | None:
        """Its new name; None if there is none of that name that is ours."""
        if name not in self.known():
            return None
        new = None
        if name in self._there:
            new = self._free(name, stamp)
            self._run(f"ALTER TABLE {self._quoted(name)} RENAME TO {self._quoted(new)}")
            self._there = self._there - {name} | {new}
        self._run("DELETE FROM {_tables} WHERE {name} = ?", name)
        return new

    def _free(self, name: str, stamp: str) -> str:
        new, number = shortened(name, f"_{stamp}"), 1
        while new in self._there:
            number += 1
            new = shortened(name, f"_{stamp}_{number}")
        return new

    # --- one table -------------------------------------------------------------------------

    def _prepare(self, table: Table, before: Table | None) -> list[str]:
        if table.name not in self._there:
            if before is not None:
                raise StateDamaged(
                    f"{self._database.name} has lost its table {table.name!r}: bring it back, or "
                    "start with --fresh"
                )
            self._create(table, OWN)
            self._record(table)
            return [f"table {table.name} made"]
        columns = {each["name"] for each in inspect(self._db).get_columns(table.name)}
        if not columns >= OWN.keys():
            raise UsageError(
                f"{self._database.name} has a table {table.name!r} that Sheaf did not make: rename "
                "one of the two"
            )
        return self._extend(table, before or table, columns)

    def _extend(self, table: Table, before: Table, there: set[str]) -> list[str]:
        self._check_key(table, before)
        said = []
        for name, wanted in table.columns.items():
            old = before.columns.get(name, wanted)
            if name not in there:
                self._add(table.name, name, wanted)
                said.append(f"column {table.name}.{name} added")
            elif not wanted.holds(old):
                raise UsageError(
                    f"column {table.name}.{name} is {old} and cannot become {wanted}: {AGAIN}"
                )
            elif wanted != old:
                self._database.widen(self._db, table.name, name, wanted)
                said.append(f"column {table.name}.{name} widened from {old} to {wanted}")
        self._record(Table(table.name, {**before.columns, **table.columns}, table.key))
        return said

    def _check_key(self, table: Table, before: Table) -> None:
        if table.key != before.key:
            was, now = (", ".join(each.key) or "none" for each in (before, table))
            raise UsageError(f"the key of table {table.name} was {was} and is now {now}: {AGAIN}")

    def _create(self, table: Table, own: Mapping[str, DataType]) -> None:
        made = SqlTable(
            table.name,
            MetaData(),
            *(self._column(table, name, each) for name, each in {**table.columns, **own}.items()),
            **self._database.table_options,
        )
        self._db.execute(CreateTable(made))
        if own and not table.key:
            # a name of its own: those of indexes stay when a table is set aside
            index = Index(f"_request_{uuid.uuid4().hex}", made.c["_request"])
            self._database.shape_index(index)
            index.create(self._db)
        self._there.add(table.name)

    def _column(self, table: Table, name: str, wanted: DataType) -> Column[object]:
        in_key = name in table.key
        kind = self._database.sql_type(wanted)
        return Column(
            name, kind, primary_key=in_key, nullable=not in_key, autoincrement=False, quote=True
        )

    def _add(self, table: str, column: str, wanted: DataType) -> None:
        kind = self._database.compiled(wanted)
        self._run(f"ALTER TABLE {self._quoted(table)} ADD COLUMN {self._quoted(column)} {kind}")

    def _record(self, table: Table) -> None:
        columns = {name: str(each) for name, each in table.columns.items()}
        said = orjson.dumps(columns).decode(), orjson.dumps(table.key).decode()
        if self._ask("SELECT {name} FROM {_tables} WHERE {name} = ?", table.name):
            self._run("UPDATE {_tables} SET {columns} = ? WHERE {name} = ?", said[0], table.name)
        else:
            statement = "INSERT INTO {_tables} ({name}, {columns}, {parts_of_key}) VALUES (?, ?, ?)"
            self._run(statement, table.name, *said)

    # --- statements ------------------------------------------------------------------------

    def _quoted(self, name: str) -> str:
        return self._database.quoted(name)

    def _run(self, statement: str, *values: object) -> None:
        self._db.exec_driver_sql(self._said(statement, bool(values)), values or None)

    def _ask(self, statement: str, *values: object) -> list[tuple[str, ...]]:
        said = self._said(statement, bool(values))
        return [tuple(row) for row in self._db.exec_driver_sql(said, values or None)]

    def _said(self, statement: str, has_values: bool) -> str:
        for name in (LIST.name, *LIST.columns):
            statement = statement.replace(f"{{{name}}}", self._quoted(name))
        return statement.replace("?", self._database.mark) if has_values else statement
