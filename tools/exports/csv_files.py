"""Writes a graph as CSV (RFC 4180): a header, lines that end in CR LF, quotes where needed.

Null and an empty text are both an empty field. Nothing is altered, not even what a spreadsheet
would take for a formula.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import orjson

from ..add import Graph
from ..graphs.copy import Part, Show, parts
from .tables import COLUMNS, Row, rows, text_files


def write(graph: Graph, folder: Path, show: Show) -> None:
    with begun_tables(folder) as files:
        for part in parts(graph):
            write_part(part, files)
            show(part.size)


@contextmanager
def begun_tables(folder: Path) -> Iterator[Mapping[str, TextIO]]:
    with text_files(folder, [f"{name}.csv" for name in COLUMNS]) as files:
        for name, columns in COLUMNS.items():
            csv.writer(files[name]).writerow(columns)
        yield files


def write_part(part: Part, files: Mapping[str, TextIO]) -> None:
    for name, found in rows(part).items():
        csv.writer(files[name]).writerows(map(_fields, found))


def _fields(row: Row) -> list[object]:
    return [orjson.dumps(each).decode() if isinstance(each, list) else each for each in row]
