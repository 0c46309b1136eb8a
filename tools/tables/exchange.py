"""The rows and problems that documents had go, the new ones come: inside one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from sqlalchemy import Connection

from .batch import Tuples, last_of_each_key
from .catalogue import PROBLEMS
from .database import AT_ONCE, Database
from .declared import Table
from .rows import Problem


def replace_rows(
    database: Database, db: Connection, table: Table, documents: Sequence[str], rows: Tuples
) -> None:
    """With a key, a row that another document had before is taken over."""
    if table.counted is not None:
        rows = _numbered(database, db, table, documents, rows)
    if table.key:
        rows = last_of_each_key(table, rows)
    database.forget(db, table.name, table.source_column, documents)
    if rows:
        database.put(db, table, rows)


def replace_problems(
    database: Database,
    db: Connection,
    tables: Iterable[str],
    documents: Sequence[str],
    problems: Sequence[Problem],
) -> None:
    """Of these tables only: somebody else's documents may have the same names."""
    ours = database.among("table", list(tables))
    database.forget(db, PROBLEMS.name, "document", documents, ours)
    if problems:
        database.put(db, PROBLEMS, problems)


def _numbered(
    database: Database, db: Connection, table: Table, documents: Sequence[str], rows: Tuples
) -> Tuples:
    """Rows without a number keep the one they had, or get the next: a document that is written
    again has the same rows."""
    name = table.counted or ""
    at = list(table.columns).index(name)
    if all(row[at] is not None for row in rows):
        return rows
    had = _numbers(database, db, table, name, documents)
    largest = f"SELECT MAX({database.quoted(name)}) FROM {database.quoted(table.name)}"
    there = db.exec_driver_sql(largest).scalar_one() or 0
    following = count(max([there, *(row[at] or 0 for row in rows)]) + 1)
    return [
        row if row[at] is not None else _with(row, at, had.get(row[-2:]) or next(following))
        for row in rows
    ]


def _numbers(
    database: Database, db: Connection, table: Table, name: str, documents: Sequence[str]
) -> dict[tuple[Any, ...], int]:
    """By document and row, of those that are there."""
    columns = ", ".join(map(database.quoted, [*table.own_columns, name]))
    found = {}
    for at in range(0, len(documents), AT_ONCE):
        where, values = database.among(table.source_column, documents[at : at + AT_ONCE])
        statement = f"SELECT {columns} FROM {database.quoted(table.name)} WHERE {where}"
        for document, row, number in db.exec_driver_sql(statement, values):
            found[document, row] = number
    return found


def _with(row: tuple[Any, ...], at: int, number: int) -> tuple[Any, ...]:
    return (*row[:at], number, *row[at + 1 :])
