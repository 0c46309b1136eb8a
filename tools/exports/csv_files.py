"""Writes a graph as CSV (RFC 4180): a header, lines that end in CR LF, quotes where needed.

Null and an empty text are both an empty field. Nothing is altered, not even what a spreadsheet
would take for a formula.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import orjson

from ..add import Graph
from ..graphs.copy import Show
from ..graphs.fields import Field, names
from .tables import Row, text_file, write_tables


class Table:
    """One file."""

    def __init__(self, file: Path, fields: Sequence[Field]) -> None:
        self._file = text_file(file)
        self._writer = csv.writer(self._file)
        self._writer.writerow(names(fields))

    def add(self, rows: Sequence[Row]) -> None:
        self._writer.writerows(map(_fields, rows))

    def close(self) -> None:
        self._file.close()


def write(graph: Graph, folder: Path, show: Show) -> None:
    write_tables(Table, "csv", graph, folder, show)


def _fields(row: Row) -> list[object]:
    return [orjson.dumps(each).decode() if isinstance(each, list) else each for each in row]
