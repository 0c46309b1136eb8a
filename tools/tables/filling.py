"""One column of many rows: what is missing is filled, what does not fit is left out and told.

Promise: a document's values come out the same whatever other documents are written beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..base.text import storable
from ..errors import GiveUp
from .datatype import DataType
from .declared import Option, Table
from .fitting import Misfit, fitted, fitted_column
from .rows import MISSING, Missing, TooLong
from .widening import room_of, widened

LONGEST_SHOWN = 1000  # characters of a value in the table of problems
TOO_MUCH = ("too long", "too large")
LEFT_OUT = "the row is left out"


class Filled(NamedTuple):
    """The values, what was wrong with some, which rows cannot be, and a wider type if need be."""

    values: Sequence[Any]
    faults: dict[int, str]
    out: Sequence[int]
    wider: DataType | None


class Filling:
    """How a column is filled."""

    def __init__(self, table: Table, name: str) -> None:
        self.name = name
        self._place = f"{table.name}.{name}"
        self._wanted = table.columns[name]
        self._option = table.option(name)
        self._is_key = name in table.key
        self._room = room_of(table, name)
        self._default = fitted(self._wanted, self._option.default)
        self._absent = self._for_absent(self._option)
        self._must_be = self._is_key or self._option.is_required

    def _for_absent(self, option: Option) -> Any:
        """Two empty texts would not be unique, and an empty one is no key."""
        if option.has_default:
            return self._default
        return "" if self._wanted.is_text and not (self._is_key or option.is_unique) else None

    def __call__(self, given: Sequence[Any], too_long: TooLong) -> Filled:
        values: Sequence[Any] = given
        if Missing in set(map(type, given)):
            values = [self._absent if each is MISSING else each for each in given]
        found, misfits = fitted_column(self._wanted, values, self._is_key)
        wider = None
        if misfits:
            found, misfits, wider = self._fitted_somehow(values, list(found), misfits, too_long)
        faults = {at: str(misfit) for at, misfit in misfits.items()}
        if None in found:
            found = self._defaulted(found, faults)
        out = self._left_out(found, faults) if self._must_be and None in found else []
        return Filled(found, faults, out, wider)

    def _fitted_somehow(
        self,
        values: Sequence[Any],
        found: Sequence[Any],
        misfits: dict[int, Misfit],
        too_long: TooLong,
    ) -> tuple[Sequence[Any], dict[int, Misfit], DataType | None]:
        much = [at for at, misfit in misfits.items() if misfit.kind in TOO_MUCH]
        if much and too_long == "fail":
            raise GiveUp(f"{self._place}: {misfits[much[0]]}")
        if much and too_long == "widen":
            wider = widened(self._wanted, [values[at] for at in much], self._room)
            if wider != self._wanted:
                return *fitted_column(wider, values, self._is_key), wider
        if too_long == "cut" and self._wanted.is_text and not self._is_key:
            found = list(found)
            for at in much:
                found[at] = text_of(values[at])[: self._wanted.longest]
        return found, misfits, None

    def _defaulted(self, found: Sequence[Any], faults: dict[int, str]) -> Sequence[Any]:
        """What is empty takes the DEFAULT, and so does what does not fit where NULL cannot be."""
        if not self._option.has_default:
            return found
        return [
            self._default if each is None and (self._must_be or at not in faults) else each
            for at, each in enumerate(found)
        ]

    def _left_out(self, found: Sequence[Any], faults: dict[int, str]) -> list[int]:
        if self._option.is_counted:
            return [at for at in faults if found[at] is None]
        out = [at for at, each in enumerate(found) if each is None]
        what = "part of the key" if self._is_key else "NOT NULL"
        for at in out:
            faults[at] = f"{faults.get(at, f'nothing, and the column is {what}')}: {LEFT_OUT}"
        return out


def text_of(value: Any) -> str:
    """As a column of texts has it."""
    return str(fitted(DataType("text"), value))


def shown_value(value: Any) -> str | None:
    """For the table of problems."""
    if value is None or value is MISSING:
        return None
    if isinstance(value, str):
        return storable(value[:LONGEST_SHOWN])
    try:
        said = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):  # deeper than it can be written
        said = f"a {type(value).__name__}"
    return storable(said[:LONGEST_SHOWN])
