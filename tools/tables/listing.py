"""The rows of a table for whoever looks at them, so many at a time.

Promise: the next ones are found by a key, however many rows there are before. Limit: without a key
PostgreSQL sorts the whole table for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection

from .database import Database
from .datatype import DataType
from .declared import Table

LONGEST = 1000  # characters of a value
CUT = "…"

Cell = None | bool | int | float | str


class Listing(NamedTuple):
    """`after` says where the next ones begin; None behind the last one."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    after: str | None


class Order(NamedTuple):
    """What a table is sorted by: no two rows have the same of it."""

    columns: dict[str, DataType]

    @classmethod
    def of(cls, table: Table) -> Order:
        if table.key:
            return cls({name: table.columns[name] for name in table.key})
        return cls(dict([*table.own_columns.items()][:2]))

    @staticmethod
    def place_of(values: Sequence[Any]) -> str:
        return orjson.dumps(list(values), default=_text_of).decode()

    def place(self, text: str) -> tuple[Any, ...]:
        """Nothing if somebody made it up: the table begins anew."""
        try:
            given = orjson.loads(text)
            pairs = zip(self.columns.values(), given, strict=True)
            found = tuple(wanted.fitted(value) for wanted, value in pairs)
        except (ValueError, TypeError):
            return ()
        return () if None in found else found


def listed(database: Database, db: Connection, table: Table, after: str, most: int) -> Listing:
    """Its columns and what each row is from."""
    order = Order.of(table)
    shown = {**table.columns, table.source_column: table.own_columns[table.source_column]}
    place = order.place(after)
    keys = [database.quoted(name) for name in order.columns]
    wanted = [_asked(database, name, kind) for name, kind in shown.items()] + keys
    beyond = f" WHERE {_beyond(keys, database.mark)}" if place else ""
    statement = (
        f"SELECT {', '.join(wanted)} FROM {database.quoted(table.name)}{beyond} "
        f"ORDER BY {', '.join(keys)} LIMIT {most + 1:d}"
    )
    found = db.exec_driver_sql(statement, (*place[:1], *place)).all()
    rows = [tuple(map(_told, row[: len(shown)], shown.values())) for row in found[:most]]
    last = found[most - 1][len(shown) :] if len(found) > most else None
    return Listing(tuple(shown), rows, None if last is None else order.place_of(last))


def _beyond(keys: Sequence[str], mark: str) -> str:
    """The first condition says less than the second; MariaDB uses an index for it alone."""
    return f"{keys[0]} >= {mark} AND ({', '.join(keys)}) > ({', '.join([mark] * len(keys))})"


def _asked(database: Database, name: str, wanted: DataType) -> str:
    """No value is fetched whole that may be very long."""
    column = database.quoted(name)
    if wanted.kind == "blob":
        return f"length({column})"
    if wanted.kind in ("text", "json"):
        return f"substr({database.text_of(column, wanted)}, 1, {LONGEST + 1})"
    return column


def _told(value: Any, wanted: DataType) -> Cell:
    if value is None or isinstance(value, bool):
        return value
    if wanted.kind == "blob":
        return f"{value:,} bytes"
    if wanted.kind == "boolean":
        return bool(value)
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = _text_of(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + CUT


def _text_of(value: object) -> str:
    """MariaDB's driver tells the time of a day as how long that day has lasted."""
    if isinstance(value, timedelta) and timedelta() <= value < timedelta(days=1):
        return (datetime.min + value).time().isoformat()
    return str(value)
