"""Rows as tuples for the drivers: those of one table together, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from ..base.text import storable
from .datatype import DataType
from .declared import Table
from .fitting import fitted_column
from .rows import Brought

OWN = {
    "_request": DataType("text"),
    "_n": DataType("integer"),
    "_seen": DataType("datetime"),
    "_activity": DataType("integer"),
}
"""In every table: from which request a row is, its number there, when it was seen last."""

Values = Mapping[str, Any]
Part = tuple[Brought, Sequence[Values]]


class Portion(NamedTuple):
    """What one table gets in one transaction: whose earlier rows go, and the rows."""

    table: Table
    sources: list[str]
    rows: list[tuple[Any, ...]]


def portions(
    brought: Sequence[Brought], tables: Mapping[str, Table], misfits: Counter[str]
) -> list[Portion]:
    """What does not fit is left out and counted in `misfits`."""
    parts: dict[str, list[Part]] = {}
    for each in map(_clean, brought):
        for name, rows in _by_table(each).items():
            if name in tables:
                parts.setdefault(name, []).append((each, rows))
            else:
                misfits[f"no table {name!r}"] += len(rows)
    return [_portion(tables[name], found, misfits) for name, found in parts.items()]


def _clean(brought: Brought) -> Brought:
    return brought._replace(source=storable(brought.source))


def _by_table(brought: Brought) -> dict[str, list[Values]]:
    found: dict[str, list[Values]] = {name: [] for name in brought.tables}
    for row in brought.rows:
        found.setdefault(row.table, []).append(row.values)
    return found


def _portion(table: Table, parts: list[Part], misfits: Counter[str]) -> Portion:
    if table.key:
        return Portion(table, [], _last_of_each_key(table, _tuples(table, parts, misfits)))
    last = {brought.source: (brought, rows) for brought, rows in parts}
    return Portion(table, list(last), _tuples(table, list(last.values()), misfits))


def _last_of_each_key(table: Table, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One statement cannot write a row twice."""
    names = list(table.columns)
    key = itemgetter(*map(names.index, table.key))
    return list(dict(zip(map(key, rows), rows, strict=True)).values())


def _tuples(table: Table, parts: list[Part], misfits: Counter[str]) -> list[tuple[Any, ...]]:
    values = list(chain.from_iterable(rows for _, rows in parts))
    if not values:
        return []
    bad = _unknown_columns(table, values)
    columns: list[Sequence[Any]] = []
    for (name, wanted), raw in zip(table.columns.items(), _columns(table, values), strict=True):
        column, faults = fitted_column(wanted, raw)
        for at, misfit in faults.items():
            bad.setdefault(at, f"{table.name}.{name}: {misfit.kind}")
        if name in table.key and None in column:
            for at, value in enumerate(column):
                if value is None:
                    bad.setdefault(at, f"{table.name}: no {name}")
        columns.append(column)
    rows = list(zip(*columns, *_own_columns(parts), strict=True))
    misfits.update(bad.values())
    return [row for at, row in enumerate(rows) if at not in bad] if bad else rows


def _unknown_columns(table: Table, values: list[Values]) -> dict[int, str]:
    others = set().union(*values) - table.columns.keys()
    return {
        at: f"{table.name}: no column {name!r}"
        for at, row in enumerate(values if others else ())
        for name in others.intersection(row)
    }


def _columns(table: Table, values: list[Values]) -> Sequence[Sequence[Any]]:
    """Most rows name all columns, which is quicker."""
    try:
        if len(table.columns) > 1:
            return list(zip(*map(itemgetter(*table.columns), values), strict=True))
    except KeyError:
        pass
    return [[row.get(name) for row in values] for name in table.columns]


def _own_columns(parts: list[Part]) -> list[Sequence[Any]]:
    counts = [len(rows) for _, rows in parts]
    moments = [
        datetime.fromtimestamp(brought.seen, UTC).replace(tzinfo=None).isoformat(" ")
        for brought, _ in parts
    ]
    return [
        _repeated([brought.source for brought, _ in parts], counts),
        list(chain.from_iterable(map(range, counts))),
        _repeated(moments, counts),
        _repeated([brought.activity for brought, _ in parts], counts),
    ]


def _repeated(values: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    return list(chain.from_iterable(map(repeat, values, counts)))
