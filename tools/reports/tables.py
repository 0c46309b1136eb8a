"""Tables for a terminal: nothing wraps, numbers stand to the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.text import clipped, width

WIDTH = 80

Row = tuple[str, ...]


def titled(title: str, lines: Sequence[str]) -> list[str]:
    """Nothing needs no title."""
    return [title, *lines] if lines else []


def beside(title: str, lines: Sequence[str]) -> list[str]:
    """The title stands where the first row has nothing."""
    return [title + lines[0][len(title) :], *lines[1:]]


def table(rows: Sequence[Row], left: Iterable[int] = (0,), yielding: int = 0) -> list[str]:
    """Numbers to the right, the columns in `left` to the left; one gives way if need be."""
    columns = [max(map(width, column)) for column in zip(*rows, strict=True)]
    if columns:
        others = sum(columns) - columns[yielding] + 2 * len(columns)
        columns[yielding] = min(columns[yielding], max(8, WIDTH - others))
    return ["".join(_cells(row, columns, frozenset(left))).rstrip() for row in rows]


def _cells(row: Row, columns: Sequence[int], left: frozenset[int]) -> Iterable[str]:
    for at, (text, room) in enumerate(zip(row, columns, strict=True)):
        shown = clipped(text, room)
        space = " " * (room - width(shown))
        yield f"  {shown}{space}" if at in left else f"  {space}{shown}"
