"""A document to rows, by the mappings of an export's file.

Promise: no document is a failure here, however deep, odd or large it is: what a mapping does not
find gives no row, and the mapping is named. Every mapping is compiled once; here the cost of an
export is decided, so that a row is one call for all of its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..tables.declared import Table
from ..tables.rows import MISSING
from .export_mappings import OUTER, Mapped
from .mapping import Export

NEVER: Any = object()
"""A key that no document has: the column gets what stands in for it."""


class Walked(NamedTuple):
    """`rows` by table, each as long as the table's columns; `keys` beside them if wanted: the
    outer key of each row. `unmatched` are mappings that found nothing."""

    rows: dict[str, list[tuple[Any, ...]]]
    keys: dict[str, list[str]]
    unmatched: list[str]


class Walker:
    """`outer` is a field of records that stand in no shell: its value, or the document's source,
    is their key. Otherwise a document is `{key: record}`."""

    def __init__(self, export: Export, outer: str = "", wants_keys: bool = False) -> None:
        plans = [_Plan(each, export.tables[each.table]) for each in export.mappings.values()]
        self._plans = [(each.name, each.table, each) for each in plans]
        self._outer = outer
        self._wants_keys = wants_keys

    def __call__(self, document: object, source: str = "") -> Walked:
        walked = Walked({}, {}, [])
        rows_of, records = walked.rows, self._records(document, source)
        for name, table, plan in self._plans:
            before = len(rows_of.get(table, ()))
            for key, record in records:
                if found := plan.rows(key, record):
                    rows_of.setdefault(table, []).extend(found)
                    if self._wants_keys:
                        walked.keys.setdefault(table, []).extend([key] * len(found))
            if len(rows_of.get(table, ())) == before:
                walked.unmatched.append(name)
        return walked

    def _records(self, document: object, source: str) -> list[tuple[str, dict[Any, Any]]]:
        if not self._outer:
            shells = _objects(document)
            pairs = [pair for shell in shells for pair in shell.items()]
            return [(_key(key, source), each) for key, value in pairs for each in _objects(value)]
        return [(_key(each.get(self._outer), source), each) for each in _objects(document)]


def _key(value: object, source: str) -> str:
    """What can be a key; otherwise the source stands for it."""
    if type(value) is str:
        return value or source
    try:
        return str(value) if type(value) in (int, float) else source
    except ValueError:  # a number of thousands of digits
        return source


def _objects(value: object) -> Sequence[dict[Any, Any]]:
    """It is one, or a list of them, or a list of such lists."""
    if type(value) is dict:
        return (value,)
    if type(value) is not list:
        return ()
    if list not in {type(each) for each in value}:
        return [each for each in value if type(each) is dict]
    return list(_flattened(value))


def _flattened(value: list[Any]) -> Iterator[dict[Any, Any]]:
    """In order, without a call for each depth: ten thousand are no reason to fail."""
    waiting = [iter(value)]
    while waiting:
        for each in waiting[-1]:
            if type(each) is list:
                waiting.append(iter(each))
                break
            if type(each) is dict:
                yield each
        else:
            waiting.pop()


class _Merge(NamedTuple):
    """A column with several sources: if what is at `place` is empty, the others are asked."""

    place: int
    others: Sequence[int]


class _Plan:
    """One mapping. A row is taken from an object in one go: for each source a field, and what
    stands in if the object has none. What comes from further out is such a stand-in for NEVER."""

    def __init__(self, mapped: Mapped, table: Table) -> None:
        self.name, self.table = mapped.name, mapped.table
        self._width = len(table.columns)
        self._merges: list[_Merge] = []
        self._carried = {name for name in mapped.carried if name}
        self._places: dict[str, list[int]] = {}
        sources = self._sources(mapped, table)
        self._fields = tuple(self._field(name) for name in sources)
        self._stand_ins = [self._stand_in(name) for name in sources]
        for at, column in enumerate(table.columns):
            if sources[at] is None and table.option(column).has_default:
                self._stand_ins[at] = MISSING
        self._path = mapped.path
        self._steps = [
            (key, field, self._places.get(field, ()) if field and field != OUTER else ())
            for key, field in zip(mapped.path, mapped.carried, strict=True)
        ]
        self._key_places = self._places.get(OUTER, ())
        self._carries = any(places for _, _, places in self._steps)

    def _sources(self, mapped: Mapped, table: Table) -> list[str | None]:
        """One for each column, and beyond them further ones of columns that have several."""
        by_column = mapped.sources()
        first: list[str | None] = [by_column.get(column, [None])[0] for column in table.columns]
        for at, column in enumerate(table.columns):
            others = by_column.get(column, [])[1:]
            if others:
                self._merges.append(_Merge(at, range(len(first), len(first) + len(others))))
                first += others
        for at, name in enumerate(first):
            if name is not None:
                self._places.setdefault(name, []).append(at)
        return first

    def _field(self, name: str | None) -> Any:
        is_from_outside = name is None or name == OUTER or name in self._carried
        return NEVER if is_from_outside else name

    def _stand_in(self, name: str | None) -> Any:
        return None if self._field(name) is NEVER else MISSING

    def rows(self, key: str, record: dict[Any, Any]) -> list[tuple[Any, ...]]:
        if self._carries:
            return self._carried_rows(key, record)
        found: Sequence[dict[Any, Any]] = (record,)
        for step in self._path:
            if len(found) == 1:
                found = _objects(found[0].get(step))
            else:
                found = [each for node in found for each in _objects(node.get(step))]
            if not found:
                return []
        fields, stand_ins = self._fields, self._with_key(key)
        if self._merges:
            return [self._merged(node, stand_ins) for node in found if node]
        return [tuple(map(node.get, fields, stand_ins)) for node in found if node]

    def _carried_rows(self, key: str, record: dict[Any, Any]) -> list[tuple[Any, ...]]:
        """Each object goes down with the stand-ins of its own branch."""
        found = [(record, self._with_key(key))]
        for step, field, places in self._steps:
            below = []
            for node, stand_ins in found:
                objects = _objects(node.get(step))
                if places and objects:
                    stand_ins = stand_ins.copy()
                    for place in places:
                        stand_ins[place] = node.get(field)
                below += [(each, stand_ins) for each in objects]
            found = below
        return [self._merged(node, stand_ins) for node, stand_ins in found if node]

    def _with_key(self, key: str) -> list[Any]:
        if not self._key_places:
            return self._stand_ins
        stand_ins = self._stand_ins.copy()
        for place in self._key_places:
            stand_ins[place] = key
        return stand_ins

    def _merged(self, node: Mapping[Any, Any], stand_ins: list[Any]) -> tuple[Any, ...]:
        values = list(map(node.get, self._fields, stand_ins))
        for place, others in self._merges:
            if _is_empty(values[place]):
                values[place] = _first([values[place], *(values[at] for at in others)])
        return tuple(values[: self._width])


def _first(values: list[Any]) -> Any:
    """That is not empty; or that is there at all."""
    for value in values:
        if not _is_empty(value):
            return value
    return next((value for value in values if value is not MISSING), MISSING)


def _is_empty(value: Any) -> bool:
    return value is MISSING or value is None or (not value and type(value) in (str, list, dict))
