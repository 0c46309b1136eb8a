"""What is to be stored: rows by the request or document they came from; what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

TooLong = Literal["widen", "cut", "fail"]
"""What becomes of a value that is longer than its column."""


class Missing:
    """Of which there is one: `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""A field that a document does not have: its column takes its DEFAULT, else an empty text or NULL.
"""


class Row:
    """One row of a table. Columns it does not name are empty."""

    __slots__ = ("table", "values")

    def __init__(self, table: str, /, **values: Any) -> None:
        self.table = table
        self.values: Mapping[str, Any] = values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return (self.table, self.values) == (other.table, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """
        >>> Row("product", sku="TEA-1", price=2)
        Row('product', sku='TEA-1', price=2)
        """
        said = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Row({self.table!r}{said})"


class Brought(NamedTuple):
    """All rows that one request (or document) gave. `tables` are those it may write: what a table
    without a key has of this source and is not in `rows` any more is removed."""

    source: str
    rows: Sequence[Row]
    tables: Sequence[str]
    activity: int
    seen: float


class Written(NamedTuple):
    """How many rows were stored, by table, and how many were left out, by reason."""

    rows: dict[str, int]
    misfits: dict[str, int]


class Extract(NamedTuple):
    """All rows of one document, by table, as tuples in the order of the table's columns. `tables`
    are those it may have rows in: the ones it had there before go."""

    document: str
    rows: Mapping[str, Sequence[tuple[Any, ...]]]
    tables: Sequence[str]


class Problem(NamedTuple):
    """A value that did not get into its table as it was."""

    table: str
    document: str
    row: int
    column: str
    value: str | None
    why: str


class Replaced(NamedTuple):
    """How many rows each extract has now, what was wrong with values, which columns are wider."""

    rows: list[int]
    problems: list[Problem]
    changes: list[str]


class TableCount(NamedTuple):
    """How many rows there are, and how many of them have something in a column."""

    rows: int
    filled: dict[str, int]
