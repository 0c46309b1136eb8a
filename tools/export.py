"""Writes a graph as the files that `neo4j-admin database import full` reads: for millions of
records the quickest way into Neo4j.

A field without quotes and without text is null; every text stands in quotes, so an empty one stays
an empty one. Lists are joined by a character that no path holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from tools.add import KINDS, Entity, Graph, Media, Relation, by_kind
from tools.copying import Part, Show, parts
from tools.errors import StopHarvest, UsageError
from tools.graphs.cypher import CREATE_SCHEMA

LISTS = ",".join(f"{kind}:string[]" for kind in KINDS)
HEADERS = {
    "entities": f"uri:ID(Entity),name,language,term,sense,{LISTS},:LABEL",
    "media": "path:ID(Media),owner,kind,mime,sha256,bytes:long,width:long,height:long,"
    "duration:double,license,license_url,author,page,source,provider,"
    "title,phash,time,remark,:LABEL",
    "relations": ":START_ID(Entity),:END_ID(Entity),:TYPE,uri,weight:double,surfaceText,license,"
    f"dataset,{LISTS}",
}
BETWEEN_ITEMS = "\x1f"


def export(graph: Graph, folder: Path, show: Show) -> None:
    """The folder appears when everything is in it."""
    if folder.exists():
        raise UsageError(f"{folder} exists already: name a folder that is not there yet")
    unfinished = folder.with_name(f"{folder.name}.part")
    try:
        unfinished.mkdir(parents=True, exist_ok=True)
        for name, header in HEADERS.items():
            (unfinished / f"{name}-header.csv").write_text(f"{header}\n", encoding="utf-8")
        (unfinished / "schema.cypher").write_text(_schema(), encoding="utf-8")
        with ExitStack() as stack:
            files = {
                name: stack.enter_context((unfinished / f"{name}.csv").open("w", encoding="utf-8"))
                for name in HEADERS
            }
            for part in parts(graph):
                _write_part(part, files)
                show(part.size)
        unfinished.rename(folder)
    except OSError as error:
        raise StopHarvest(f"{folder} cannot be written: {error.strerror}") from error


def _schema() -> str:
    """An import makes no constraints; a harvest into the database would make these."""
    return "".join(f"{query};\n" for query in CREATE_SCHEMA.values())


def _write_part(part: Part, files: Mapping[str, TextIO]) -> None:
    owned = part.media
    entities = (_entity(each, owned.get(each.uri, ())) for each in part.entities)
    relations = (_relation(each, owned.get(each.uri, ())) for each in part.relations)
    _write_lines(files["entities"], entities)
    _write_lines(files["relations"], relations)
    _write_lines(files["media"], _media(owned))


def _entity(entity: Entity, media: Sequence[Media]) -> list[object]:
    return [*entity, *by_kind(media).values(), "Entity"]


def _relation(relation: Relation, media: Sequence[Media]) -> list[object]:
    uri, type_, start, end, *rest = relation
    return [start, end, type_, uri, *rest, *by_kind(media).values()]


def _media(owned: dict[str, list[Media]]) -> Iterable[Sequence[object]]:
    for owner, files in owned.items():
        yield from ([each.path, owner, *each[1:], "Media"] for each in files)


def _write_lines(file: TextIO, rows: Iterable[Sequence[object]]) -> None:
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
