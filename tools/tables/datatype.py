"""A column's type as its task declares it, such as `VARCHAR(20)`, and the values that fit it.

Promise: what fits is stored by every database in the same way, and what a database would refuse or
change does not fit. Text keeps its characters but for those that databases refuse. Limit: SQLite
counts a DECIMAL with 15 digits; a BIGINT UNSIGNED ends where a BIGINT does, as in SQLite.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from ..base.text import did_you_mean

LONGEST_TEXT = 3_000_000
"""Characters: what MariaDB's usual `max_allowed_packet` takes in one statement."""
LONGEST_VARCHAR = 16_383  # MySQL's, with four bytes a character
MOST_DIGITS, MOST_DECIMALS = 65, 30  # MySQL's
USUAL_DIGITS, USUAL_DECIMALS = 38, 10

KINDS = {
    **dict.fromkeys(("CHAR", "VARCHAR"), "varchar"),
    **dict.fromkeys(("TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT"), "text"),
    **dict.fromkeys(("INTEGER", "INT", "TINYINT", "SMALLINT", "MEDIUMINT"), "integer"),
    "BIGINT": "bigint",
    **dict.fromkeys(("DECIMAL", "NUMERIC"), "decimal"),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT", "REAL"), "double"),
    **dict.fromkeys(("BOOLEAN", "BOOL"), "boolean"),
    "DATE": "date",
    **dict.fromkeys(("DATETIME", "TIMESTAMP"), "datetime"),
    "TIME": "time",
    "JSON": "json",
    "BLOB": "blob",
}
MEASURED = {"varchar": 1, "decimal": 2, "text": 1, "integer": 1, "bigint": 1, "double": 2}
"""How many numbers may stand in brackets; most only say how wide a value is shown."""
_SHAPE = re.compile(r"\s*([A-Za-z][A-Za-z ]*?)\s*(?:\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\))?\s*")
_WIDER = {("varchar", "text")}
NUMBERS = ("integer", "bigint", "decimal", "double")
_BITS = {"integer": 31, "bigint": 63}
_UNSIGNED = re.compile(r"(.*\S)\s+UNSIGNED\s*", re.I | re.S)


@dataclass(frozen=True, slots=True)
class DataType:
    """`length` is that of a VARCHAR in characters, or of a DECIMAL in digits."""

    kind: str
    length: int | None = None
    decimals: int = 0
    is_unsigned: bool = False

    def __str__(self) -> str:
        """
        >>> str(datatype("numeric(10, 2)")), str(datatype("int unsigned")), str(datatype("CHAR"))
        ('DECIMAL(10,2)', 'INTEGER UNSIGNED', 'VARCHAR(1)')
        """
        return f"{self._name} UNSIGNED" if self.is_unsigned else self._name

    @property
    def _name(self) -> str:
        if self.kind == "decimal":
            return f"DECIMAL({self.length},{self.decimals})"
        return f"VARCHAR({self.length})" if self.kind == "varchar" else self.kind.upper()

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The smallest whole number of this type, and the first that is too large."""
        if self.kind not in _BITS:
            return None
        bits = _BITS[self.kind]
        return (0, 2 ** min(bits + 1, 63)) if self.is_unsigned else (-(2**bits), 2**bits)

    @property
    def is_text(self) -> bool:
        return self.kind in ("varchar", "text")

    @property
    def longest(self) -> int:
        """Characters that a text of this type may have."""
        return LONGEST_TEXT if self.length is None else self.length

    def fitted(self, value: Any) -> Any:
        """The value as every driver takes it; raises Misfit. Nothing stays nothing."""
        from .fitting import fitted

        return fitted(self, value)

    def holds(self, other: DataType) -> bool:
        """Whatever fits `other` fits this one, too.

        >>> datatype("TEXT").holds(datatype("VARCHAR(20)"))
        True
        >>> datatype("DECIMAL(12,2)").holds(datatype("DECIMAL(11,3)"))
        False
        """
        if self.bounds and other.bounds:
            return self.bounds[0] <= other.bounds[0] and other.bounds[1] <= self.bounds[1]
        if self.is_unsigned and not other.is_unsigned:
            return False
        if self.kind != other.kind:
            return (other.kind, self.kind) in _WIDER
        if self.kind == "decimal":
            more = (self.length or 0) - (other.length or 0)
            return self.decimals >= other.decimals and more >= self.decimals - other.decimals
        return self.longest >= other.longest


def datatype(text: str) -> DataType:
    """Raises ValueError with the nearest right one.

    >>> datatype("VARCHR(20)")
    Traceback (most recent call last):
    ValueError: 'VARCHR(20)' is no type; did you mean 'VARCHAR(20)'?
    """
    found = _UNSIGNED.fullmatch(text)
    return _unsigned(_plain(found[1]), text) if found else _plain(text)


def _plain(text: str) -> DataType:
    shape = _SHAPE.fullmatch(text)
    name = " ".join(shape[1].upper().split()) if shape else text.partition("(")[0].strip()
    kind = KINDS.get(name)
    if shape is None or kind is None:
        rest = f"({text.partition('(')[2]}" if shape and "(" in text else ""
        raise ValueError(
            f"{text!r} is no type{did_you_mean(name + rest, [k + rest for k in KINDS])}"
        )
    numbers = [int(each) for each in shape.groups()[1:] if each is not None]
    if len(numbers) > MEASURED.get(kind, 0):
        raise ValueError(f"{text!r} has more numbers than a type of this name: write {name}")
    if kind == "varchar":
        return _varchar(text, numbers or [1 if name == "CHAR" else 0])
    if kind == "decimal":
        return _decimal(text, *numbers)
    return DataType(kind)


def _unsigned(wanted: DataType, text: str) -> DataType:
    if not wanted.is_number:
        raise ValueError(f"{text!r}: only numbers are UNSIGNED")
    return replace(wanted, is_unsigned=True)


def _varchar(text: str, numbers: list[int]) -> DataType:
    (length,) = numbers
    if not length:
        raise ValueError(f"{text!r} needs a length, such as VARCHAR(100); or write TEXT")
    if length > LONGEST_VARCHAR:
        raise ValueError(f"{text!r} is longer than {LONGEST_VARCHAR:,}: write TEXT")
    return DataType("varchar", length)


def _decimal(text: str, digits: int | None = None, decimals: int | None = None) -> DataType:
    if digits is None:
        return DataType("decimal", USUAL_DIGITS, USUAL_DECIMALS)
    decimals = decimals or 0
    if not 0 < digits <= MOST_DIGITS or decimals > min(digits, MOST_DECIMALS):
        raise ValueError(
            f"{text!r} must have 1 to {MOST_DIGITS} digits, {MOST_DECIMALS} of them decimals"
        )
    return DataType("decimal", digits, decimals)
