"""What replaces the rows that documents had: tuples for the drivers, table by table.

Here a row's cost is decided: what can be asked of a whole column is not asked of each value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from typing import Any, NamedTuple

from ..base.text import storable
from .batch import Portion, Tuples
from .datatype import DataType
from .declared import Table
from .filling import Filling, shown_value
from .fitting import is_storable
from .rows import Extract, Problem, TooLong


class Replacement(NamedTuple):
    """`rows` are those each extract has in it; `wider` columns must be so before it is written."""

    portions: list[Portion]
    documents: list[str]
    rows: list[int]
    problems: list[Problem]
    wider: dict[str, dict[str, DataType]]


class _Heap(NamedTuple):
    """The rows of one table, and of which document each is, with its number there."""

    rows: list[tuple[Any, ...]]
    givers: list[int]
    documents: list[str]
    numbers: list[int]


class Replacer:
    """Of the tables as they are; made anew when a column becomes wider."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._fillings = {
            table.name: [Filling(table, name) for name in table.columns]
            for table in tables.values()
            if table.own == "document"
        }

    def __call__(self, extracts: Sequence[Extract], too_long: TooLong) -> Replacement:
        """Raises GiveUp for what is too long if that is to fail."""
        documents = _documents(extracts)
        last = dict(zip(documents, range(len(documents)), strict=True))
        if len(last) < len(documents):  # of a document that came twice the last counts
            extracts = [
                each if last[document] == at else each._replace(rows={})
                for at, (document, each) in enumerate(zip(documents, extracts, strict=True))
            ]
        new = Replacement([], list(last), [0] * len(extracts), [], {})
        for name in _names(extracts):
            heap = _heap(name, extracts, documents)
            rows = _tuples(name, self._fillings[name], heap, too_long, new)
            writers = _writers(name, extracts, documents)
            new.portions.append(Portion(self._tables[name], writers, rows))
        return new


def _documents(extracts: Sequence[Extract]) -> list[str]:
    found = [each.document for each in extracts]
    return found if is_storable("".join(found)) else list(map(storable, found))


def _names(extracts: Iterable[Extract]) -> dict[str, None]:
    names: dict[str, None] = {}
    for each in extracts:
        if not names.keys() >= {*each.tables, *each.rows}:
            names |= dict.fromkeys((*each.tables, *each.rows))
    return names


def _writers(name: str, extracts: Sequence[Extract], documents: list[str]) -> list[str]:
    """Whose earlier rows go."""
    if all(each.tables is extracts[0].tables for each in extracts):
        return documents
    is_writer = [name in each.tables or name in each.rows for each in extracts]
    return list(compress(documents, is_writer))


def _heap(name: str, extracts: Sequence[Extract], documents: list[str]) -> _Heap:
    rows = [each.rows.get(name, ()) for each in extracts]
    counts = list(map(len, rows))
    return _Heap(
        list(chain.from_iterable(rows)),
        list(chain.from_iterable(map(repeat, range(len(rows)), counts))),
        list(chain.from_iterable(map(repeat, documents, counts))),
        list(chain.from_iterable(map(range, counts))),
    )


def _tuples(
    table: str, fillings: list[Filling], heap: _Heap, too_long: TooLong, new: Replacement
) -> Tuples:
    if not heap.rows:
        return []
    columns: list[Sequence[Any]] = []
    out: set[int] = set()
    for filling, given in zip(fillings, zip(*heap.rows, strict=True), strict=True):
        values, faults, missing, wider = filling(given, too_long)
        columns.append(values)
        out.update(missing)
        if wider is not None:
            new.wider.setdefault(table, {})[filling.name] = wider
        for at, why in faults.items():
            where = heap.documents[at], heap.numbers[at], filling.name
            new.problems.append(Problem(table, *where, shown_value(given[at]), why))
    rows = list(zip(*columns, heap.documents, heap.numbers, strict=True))
    givers = heap.givers
    if out:
        kept = [at not in out for at in range(len(rows))]
        rows, givers = list(compress(rows, kept)), list(compress(givers, kept))
    for at, count in Counter(givers).items():
        new.rows[at] += count
    return rows
