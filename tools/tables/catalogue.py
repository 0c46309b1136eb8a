"""The list of the tables that are ours, in the database itself, and what was changed in them.

Promise: a column's type is known as it was declared and as it is, since values may have widened it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection

from ..base.text import storable
from .database import Database
from .datatype import DataType, datatype
from .declared import INTEGER, PLAIN, TEXT, Option, Table

NAME = DataType("varchar", 63)
LIST = Table(
    "_tables",
    {"name": NAME, "columns": TEXT, "parts_of_key": TEXT, "owner": DataType("varchar", 200)},
    ("name",),
    own="nobody",
)
PROBLEMS = Table(
    "_problems",
    {"table": NAME, "document": TEXT, "row": INTEGER, "column": NAME, "value": TEXT, "why": TEXT},
    own="nobody",
)
CHANGES = Table(
    "_schema_changes",
    {"at": DataType("datetime"), "table": NAME, "change": TEXT},
    own="nobody",
)
OWN_KEY = "_own"  # among the columns, where no other name begins like this


class Known(NamedTuple):
    """A table as it is, and the types its columns were declared with."""

    table: Table
    declared: Mapping[str, DataType]


class Catalogue:
    """Inside one transaction."""

    def __init__(self, database: Database, db: Connection) -> None:
        self._database = database
        self._db = db

    def known(self) -> dict[str, Known]:
        rows = self._ask("SELECT {name}, {columns}, {parts_of_key} FROM {_tables}")
        return {name: _known(name, columns, key) for name, columns, key in rows}

    def owners(self, names: Iterable[str]) -> set[str]:
        wanted = set(names)
        rows = self._ask("SELECT {name}, {owner} FROM {_tables}")
        return {owner for name, owner in rows if owner and name in wanted}

    def claim(self, owner: str, names: Iterable[str]) -> None:
        for name in names:
            self._run("UPDATE {_tables} SET {owner} = ? WHERE {name} = ?", owner, name)

    def forget(self, name: str) -> None:
        self._run("DELETE FROM {_tables} WHERE {name} = ?", name)

    def record(self, known: Known) -> None:
        table = known.table
        said = _columns(known), orjson.dumps(table.key).decode()
        if self._ask("SELECT {name} FROM {_tables} WHERE {name} = ?", table.name):
            self._run("UPDATE {_tables} SET {columns} = ? WHERE {name} = ?", said[0], table.name)
        else:
            statement = "INSERT INTO {_tables} ({name}, {columns}, {parts_of_key}) VALUES (?, ?, ?)"
            self._run(statement, table.name, *said)

    def note(self, table: str, change: str) -> None:
        """Written before it is done: where changing a table ends a transaction, one that was
        killed between the two is noted twice rather than never."""
        moment = datetime.now(UTC).replace(tzinfo=None).isoformat(" ")
        self._database.put(self._db, CHANGES, [(moment, table, change)])

    def _run(self, statement: str, *values: object) -> None:
        self._db.exec_driver_sql(self._said(statement, bool(values)), values or None)

    def _ask(self, statement: str, *values: object) -> list[tuple[str, ...]]:
        said = self._said(statement, bool(values))
        return [tuple(row) for row in self._db.exec_driver_sql(said, values or None)]

    def _said(self, statement: str, has_values: bool) -> str:
        for name in (LIST.name, *LIST.columns):
            statement = statement.replace(f"{{{name}}}", self._database.quoted(name))
        return statement.replace("?", self._database.mark) if has_values else statement


def _columns(known: Known) -> str:
    """Of a request's table only names and types, as they always were."""
    table = known.table
    if table.own == "request":
        return orjson.dumps({name: str(each) for name, each in table.columns.items()}).decode()
    said: dict[str, Any] = {OWN_KEY: table.own}
    for name, each in table.columns.items():
        more = _option(each, table.option(name))
        said[name] = {"is": str(each), "declared": str(known.declared[name]), **more}
    return orjson.dumps(said).decode()


def _option(wanted: DataType, option: Option) -> dict[str, Any]:
    """What it says; as a database stores it."""
    stored = option._replace(
        default=wanted.fitted(option.default), comment=storable(option.comment)
    )
    return {part: each for part, each in stored._asdict().items() if each != getattr(PLAIN, part)}


def _known(name: str, columns: str, key: str) -> Known:
    said = orjson.loads(columns)
    own = said.pop(OWN_KEY, "request")
    parts = tuple(orjson.loads(key))
    if own == "request":
        types = {column: datatype(each) for column, each in said.items()}
        return Known(Table(name, types, parts), types)
    declared = {column: datatype(each.pop("declared")) for column, each in said.items()}
    types = {column: datatype(each.pop("is")) for column, each in said.items()}
    options = {column: Option(**each) for column, each in said.items() if each}
    return Known(Table(name, types, parts, options=options, own=own), declared)
