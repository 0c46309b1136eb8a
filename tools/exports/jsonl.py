"""Writes a graph as JSON Lines: every record an object on its own line, in UTF-8."""

from __future__ import annotations

from pathlib import Path

import orjson

from ..add import Graph
from ..graphs.copy import Show, parts
from .tables import COLUMNS, rows, text_files


def write(graph: Graph, folder: Path, show: Show) -> None:
    with text_files(folder, [f"{name}.jsonl" for name in COLUMNS]) as files:
        for part in parts(graph):
            for name, found in rows(part).items():
                columns = COLUMNS[name]
                objects = (dict(zip(columns, row, strict=True)) for row in found)
                files[name].writelines(f"{orjson.dumps(each).decode()}\n" for each in objects)
            show(part.size)
