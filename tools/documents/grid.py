"""Rows of cells -> objects: what a table is to whoever walks through JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Row = Sequence[str | None]


def objects(rows: Iterable[Row], names: Sequence[str]) -> list[dict[str, str | None]]:
    """
    >>> objects([["1", "x"]], names_of(["n", None]))
    [{'n': '1', '2': 'x'}]
    """
    return [dict(zip(names, row, strict=False)) for row in rows]


def names_of(header: Row) -> list[str]:
    """Each once: a column without a name has its number, a second one of a name says so.

    >>> names_of(["a", "", "a\\n b", "a", "a"])
    ['a', '2', 'a b', 'a 2', 'a 3']
    """
    names: list[str] = []
    for number, cell in enumerate(header, start=1):
        said = " ".join((cell or "").split()) or str(number)
        name, again = said, 1
        while name in names:
            again += 1
            name = f"{said} {again}"
        names.append(name)
    return names


def is_header(row: Row) -> bool:
    """Of a row that nobody calls one: if every column has a name of its own.

    >>> is_header(["a", "b"]), is_header(["a", ""]), is_header(["a", "a"])
    (True, False, False)
    """
    return all(row) and len({*row}) == len(row)
