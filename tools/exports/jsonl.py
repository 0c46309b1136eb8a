"""Writes a graph as JSON Lines: every record an object on its own line, in UTF-8."""

from __future__ import annotations

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
        self._columns = names(fields)

    def add(self, rows: Sequence[Row]) -> None:
        objects = (dict(zip(self._columns, row, strict=True)) for row in rows)
        self._file.writelines(f"{orjson.dumps(each).decode()}\n" for each in objects)

    def close(self) -> None:
        self._file.close()


def write(graph: Graph, folder: Path, show: Show) -> None:
    write_tables(Table, "jsonl", graph, folder, show)
