"""Wider types, for values that are too long or too large for the column they belong in.

Promise: a column never grows beyond what each database takes, so it is wider on all or on none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .datatype import LONGEST_VARCHAR, MOST_DIGITS, DataType
from .declared import KEY_CHARACTERS, ROW_BYTES, TEXT, Table
from .fitting import Misfit, fitted


def widened(wanted: DataType, values: Iterable[Any], room: int | None) -> DataType:
    """The type with which as many of these fit as can. `room`: the characters of an index."""
    for value in values:
        wanted = next((each for each in _wider(wanted, room) if _fits(each, value)), wanted)
    return wanted


def _fits(wanted: DataType, value: Any) -> bool:
    try:
        fitted(wanted, value)
        return True
    except Misfit:
        return False


def _wider(wanted: DataType, room: int | None) -> Iterator[DataType]:
    """Each much wider than the one before: a change costs as much as the table is large."""
    yield wanted
    if wanted.kind == "integer":
        yield replace(wanted, kind="bigint")
    elif wanted.kind == "decimal":
        digits = wanted.length or 1
        while digits < MOST_DIGITS:
            digits = min(digits + 6, MOST_DIGITS)
            yield replace(wanted, length=digits)
    elif wanted.kind == "varchar":
        longest = LONGEST_VARCHAR if room is None else room
        length = wanted.length or 1
        while length < longest:
            length = min(2 * length, longest)
            yield DataType("varchar", length)
        if room is None:
            yield TEXT


def room_of(table: Table, name: str) -> int | None:
    """How many characters a column may have because of an index; None for those without one."""
    rooms = []
    if name in table.key:
        rooms.append(KEY_CHARACTERS - table.key_characters + (table.columns[name].length or 0))
    if table.option(name).is_unique:
        rooms.append(KEY_CHARACTERS)
    return min(rooms, default=None)


def with_wider(table: Table, wider: Mapping[str, DataType]) -> Table:
    """The table with these columns; they are TEXT where a row would become too long otherwise."""
    grown = replace(table, columns={**table.columns, **wider})
    for name, each in wider.items():
        if grown.row_bytes > ROW_BYTES and each.is_text and room_of(table, name) is None:
            grown = replace(grown, columns={**grown.columns, name: TEXT})
    return grown
