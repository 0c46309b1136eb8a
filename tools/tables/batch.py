"""Rows as tuples for the drivers: those of one table together, column by column.

Here a row's cost is decided: what can be asked of a whole column is not asked of each value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, compress, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from ..base.text import storable
from .declared import Table
from .fitting import fitted_column, is_storable
from .rows import Brought

Tuples = list[tuple[Any, ...]]


class Portion(NamedTuple):
    """What one table gets in one transaction: whose earlier rows go, and the rows."""

    table: Table
    sources: list[str]
    rows: Tuples


class _Heap:
    """The rows of one table: values, and the number of the Brought that each is from."""

    def __init__(self, values: list[Mapping[str, Any]], givers: list[int]) -> None:
        self.values = values
        self.givers = givers

    def keep(self, selected: list[bool]) -> _Heap:
        return _Heap(list(compress(self.values, selected)), list(compress(self.givers, selected)))


class _Givers:
    """What the requests say of all their rows, in storable words."""

    def __init__(self, brought: Sequence[Brought]) -> None:
        self.brought = brought
        self.numbers = list(range(len(brought)))
        self.sources = [each.source for each in brought]
        if not is_storable("".join(self.sources)):
            self.sources = list(map(storable, self.sources))
        self.moments = list(map(_moment, map(int, [each.seen for each in brought])))
        self.activities = [each.activity for each in brought]

    def columns(self, givers: list[int]) -> list[Sequence[Any]]:
        """Our own columns of the rows they gave."""
        if givers == self.numbers:  # a row each, as pages about one thing have it
            return [self.sources, [0] * len(givers), self.moments, self.activities]
        return [
            list(map(self.sources.__getitem__, givers)),
            list(chain.from_iterable(map(range, Counter(givers).values()))),
            list(map(self.moments.__getitem__, givers)),
            list(map(self.activities.__getitem__, givers)),
        ]

    def last(self, name: str, heap: _Heap) -> dict[str, int]:
        """Who may write this table; of a source that came twice only the last counts."""
        givers = {at for at, each in enumerate(self.brought) if name in each.tables}
        return {self.sources[at]: at for at in sorted(givers.union(heap.givers))}


def portions(
    brought: Sequence[Brought], tables: Mapping[str, Table], misfits: Counter[str]
) -> list[Portion]:
    """What does not fit is left out and counted in `misfits`."""
    givers = _Givers(brought)
    found = []
    for name, heap in _heaps(brought).items():
        if name in tables:
            found.append(_portion(tables[name], heap, givers, misfits))
        else:
            misfits[f"no table {name!r}"] += len(heap.values)
    return found


def _portion(table: Table, heap: _Heap, givers: _Givers, misfits: Counter[str]) -> Portion:
    if table.key:
        rows = _tuples(table, heap, givers, misfits)
        return Portion(table, [], last_of_each_key(table, rows))
    last = givers.last(table.name, heap)
    kept = [last[givers.sources[at]] == at for at in heap.givers]
    return Portion(table, list(last), _tuples(table, heap.keep(kept), givers, misfits))


def _heaps(brought: Sequence[Brought]) -> dict[str, _Heap]:
    rows = [*chain.from_iterable([each.rows for each in brought])]
    counts = [len(each.rows) for each in brought]
    givers = list(chain.from_iterable(map(repeat, range(len(brought)), counts)))
    all_of_them = _Heap([row.values for row in rows], givers)
    names = dict.fromkeys(chain.from_iterable([each.tables for each in brought]))
    names |= dict.fromkeys([row.table for row in rows])
    if len(names) == 1:
        return dict.fromkeys(names, all_of_them)
    return {name: all_of_them.keep([row.table == name for row in rows]) for name in names}


def last_of_each_key(table: Table, rows: Tuples) -> Tuples:
    """One statement cannot write a row twice."""
    key = itemgetter(*map(list(table.columns).index, table.key))
    if len(set(map(key, rows))) == len(rows):
        return rows
    return list({key(row): row for row in rows}.values())


def _tuples(table: Table, heap: _Heap, givers: _Givers, misfits: Counter[str]) -> Tuples:
    if not heap.values:
        return []
    bad: dict[int, str] = {}
    columns: list[Sequence[Any]] = []
    for (name, wanted), raw in zip(
        table.columns.items(), _columns(table, heap.values, bad), strict=True
    ):
        is_key = name in table.key
        column, faults = fitted_column(wanted, raw, is_key)
        for at, misfit in faults.items():
            bad.setdefault(at, f"{table.name}.{name}: {misfit.kind}")
        if is_key and None in column:
            for at in (at for at, value in enumerate(column) if value is None):
                bad.setdefault(at, f"{table.name}: no {name}")
        columns.append(column)
    rows = list(zip(*columns, *givers.columns(heap.givers), strict=True))
    misfits.update(bad.values())
    return [row for at, row in enumerate(rows) if at not in bad] if bad else rows


def _columns(
    table: Table, values: list[Mapping[str, Any]], bad: dict[int, str]
) -> Sequence[Sequence[Any]]:
    """Most rows name all columns and no others, which is quicker."""
    names = list(table.columns)
    if set(map(len, values)) == {len(names)}:
        with suppress(KeyError):
            return [[row[name] for row in values] for name in names]
    others = set().union(*values).difference(names)
    for at, row in enumerate(values if others else ()):
        for name in others.intersection(row):
            bad[at] = f"{table.name}: no column {name!r}"
    return [[row.get(name) for row in values] for name in names]


@lru_cache(maxsize=4096)
def _moment(seconds: int) -> str:
    """In UTC."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(" ")
