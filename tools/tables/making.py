"""Tables, columns and indexes as SQLAlchemy makes them: it quotes every name and text in them."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy import Column, Connection, Index, MetaData
from sqlalchemy import Table as SqlTable
from sqlalchemy.schema import CreateTable

from ..base.text import storable
from .database import Database
from .declared import Table

LONGEST_COMMENT = 1000  # characters; MariaDB takes 1,024


def make_table(database: Database, db: Connection, table: Table, source: str = "") -> None:
    """With an index of the column `source`."""
    made = _described(database, table)
    db.execute(CreateTable(made))
    for column in made.columns:
        if column.comment:
            database.comment(db, column)
    if source:
        make_index(database, db, table, source)
    for name, option in table.options.items():
        if option.is_unique and table.key != (name,):
            make_unique(database, db, table, name)


def make_index(database: Database, db: Connection, table: Table, column: str) -> None:
    index = Index(_name(column.strip("_")), _described(database, table).c[column])
    database.shape_index(index)
    index.create(db)


def make_unique(database: Database, db: Connection, table: Table, column: str) -> None:
    Index(_name("unique"), _described(database, table).c[column], unique=True).create(db)


def drop_index(database: Database, db: Connection, table: Table, name: str) -> None:
    Index(name, next(iter(_described(database, table).c))).drop(db)


def column_of(
    database: Database, table: Table, name: str, may_be_empty: bool = False
) -> Column[Any]:
    """One that stands in its table."""
    column = _described(database, table).c[name]
    column.nullable = column.nullable or may_be_empty
    return column


def _name(what: str) -> str:
    """One of its own: those of indexes stay when a table is set aside."""
    return f"_{what}_{uuid.uuid4().hex}"


def _described(database: Database, table: Table) -> SqlTable:
    own = [
        Column(name, database.sql_type(wanted), quote=True)
        for name, wanted in table.own_columns.items()
    ]
    columns = [_column(database, table, name) for name in table.columns]
    return SqlTable(table.name, MetaData(), *columns, *own, quote=True, **database.table_options)


def _column(database: Database, table: Table, name: str) -> Column[Any]:
    in_key, option = name in table.key, table.option(name)
    return Column(
        name,
        database.sql_type(table.columns[name]),
        primary_key=in_key,
        nullable=not (in_key or option.is_required),
        autoincrement=False,
        quote=True,
        server_default=_default(table, name),
        comment=storable(option.comment)[:LONGEST_COMMENT] or None,
    )


def _default(table: Table, name: str) -> str | None:
    """For those who insert rows themselves; in ours it stands already. Not all databases have one
    for long texts."""
    wanted, option = table.columns[name], table.option(name)
    value = wanted.fitted(option.default)
    if value is None or wanted.kind in ("text", "json", "blob"):
        return None
    return str(int(value)) if isinstance(value, bool) else str(value)
