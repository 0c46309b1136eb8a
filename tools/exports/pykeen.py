"""Writes a graph as the triples PyKEEN learns from, split for training, validation and tests, and
beside them the tables that say what they are about.

Promise: that of the split, see `tools/exports/split.py`, and its memory.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ..add import Graph, Relation
from ..graphs.copy import Show, parts
from . import csv_files
from .split import SIDES, Split
from .tables import add_part, begun_tables, text_files

# A URI holds none of these; a line that did would be read as something else.
_ESCAPES = {code: f"%{code:02X}" for code in range(0x20)}


def write(graph: Graph, folder: Path, show: Show, seed: int = 0) -> None:
    split = Split(graph, seed, show)
    types: Counter[str] = Counter()
    with (
        begun_tables(csv_files.Table, "csv", folder) as tables,
        text_files(folder, [f"{side}.tsv" for side in SIDES]) as files,
    ):
        for part in parts(graph):
            add_part(part, tables)
            for relation, side in zip(part.relations, split.sides(part.relations), strict=True):
                files[side].write(_line(relation))
            types.update(each.type for each in part.relations)
            show(part.size)
    _write_types(types, folder)


def _write_types(types: Mapping[str, int], folder: Path) -> None:
    with text_files(folder, ["relation_types.csv"]) as files:
        table = csv.writer(files["relation_types"])
        table.writerow(("uri", "name", "relations"))
        table.writerows((f"/r/{name}", name, number) for name, number in sorted(types.items()))


def _line(relation: Relation) -> str:
    triple = (relation.start, f"/r/{relation.type}", relation.end)
    return "\t".join(each.translate(_ESCAPES) for each in triple) + "\n"
