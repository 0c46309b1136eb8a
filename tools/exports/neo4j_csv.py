"""Writes a graph as the files that `neo4j-admin database import full` reads: for millions of
records the quickest way into Neo4j.

A field without quotes and without text is null; every text stands in quotes, so an empty one stays
an empty one. Lists are joined by a character that no path holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from ..add import Graph
from ..graphs.copy import Part, Show, parts
from ..graphs.cypher import TypedTexts
from ..graphs.fields import TABLES, Field
from .tables import Row, rows, text_files

TYPES = {str: "", int: ":long", float: ":double", list: ":string[]"}


def _head(fields: Iterable[Field]) -> str:
    return ",".join(f"{each.name}{TYPES[each.type]}" for each in fields)


HEADERS = {
    "entities": f"uri:ID(Entity),{_head(TABLES['entities'][1:])},:LABEL",
    "media": f"path:ID(Media),{_head(TABLES['media'][1:])},:LABEL",
    "relations": f":START_ID(Entity),:END_ID(Entity),:TYPE,uri,{_head(TABLES['relations'][4:])}",
}
BETWEEN_ITEMS = "\x1f"


def write(graph: Graph, folder: Path, show: Show, types: Sequence[str] = ()) -> None:
    """`types` of relations get constraints in schema.cypher: all that a harvest may store."""
    for name, header in HEADERS.items():
        (folder / f"{name}-header.csv").write_text(f"{header}\n", encoding="utf-8")
    (folder / "schema.cypher").write_text(_schema(types), encoding="utf-8")
    with text_files(folder, [f"{name}.csv" for name in HEADERS]) as files:
        for part in parts(graph):
            _write_part(part, files)
            show(part.size)


def _schema(types: Sequence[str]) -> str:
    """An import makes no constraints; a harvest into the database would make these."""
    return "".join(f"{query};\n" for query in TypedTexts(types).create_schema.values())


def _write_part(part: Part, files: Mapping[str, TextIO]) -> None:
    found = rows(part)
    _write_lines(files["entities"], ((*row, "Entity") for row in found["entities"]))
    _write_lines(files["media"], ((*row, "Media") for row in found["media"]))
    _write_lines(files["relations"], map(_relation, found["relations"]))


def _relation(row: Row) -> Row:
    uri, type_, start, end, *rest = row
    return (start, end, type_, uri, *rest)


def _write_lines(file: TextIO, rows: Iterable[Row]) -> None:
    file.writelines(",".join(map(_field, row)) + "\n" for row in rows)


def _field(value: object) -> str:
    """The csv module of Python 3.11 cannot tell an empty text from null."""
    match value:
        case None:
            return ""
        case list():
            return _field(BETWEEN_ITEMS.join(value))
        case str():
            return '"' + value.replace('"', '""') + '"'
        case _:
            return str(value)
