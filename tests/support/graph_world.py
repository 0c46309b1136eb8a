"""A graph with everything that is hard, and how to look at it in both stores."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.command import walk
from tests.support.neo4j_server import AnyServer, ask
from tests.support.store_contract import (
    DOG_BARKS,
    DOG_IS_PET,
    DOG_MEDIA,
    SENSE,
    STRANGE,
    image,
    relation,
    write,
)
from tools.add import Counts, Entity, Graph, Media
from tools.conceptnet.graph import open_graph
from tools.graphs.sqlite import SqliteGraph

HOSTILE = "'}) DETACH DELETE n //"
HARD = f'a "quoted" word, \\ and \\", ü中😀\ntwo\r\nlines\t$x {{0}}; {HOSTILE} '
BARE = relation("IsA", "/c/en/tail", "/c/en/dog", 0.1, license=None, dataset=None)
EMPTY = relation("HasA", "/c/en/dog", "/c/en/tail", surface_text="", license="", dataset="")
TOLD = relation("CapableOf", "/c/en/dog", "/c/en/dog", 12.75, surface_text=HARD, dataset=HOSTILE)
# Few types: the server plans its queries anew for each of them.
RELATIONS = (DOG_IS_PET, DOG_BARKS, SENSE, STRANGE, BARE, EMPTY, TOLD)
LONELY = (
    Entity("/c/en/lonely", HARD, "en", "/c/en/lonely", ""),
    Entity("/c/en/nameless/n", "", "en", "/c/en/nameless", HARD),
)
SOUND = Media(
    "m/b'ark \\ 😀.ogg", "audio", "audio/ogg", "ff" * 32, 2**53 + 1, None, None, 1.5, None, "",
    HARD, None, None, None,
)  # fmt: skip
MEDIA = {
    "/c/en/dog": DOG_MEDIA,
    DOG_BARKS.uri: [image("m/z.gif", "visual"), image("m/a.gif", "visual"), SOUND],
    STRANGE.uri: [image("m/strange.png")],
}
COUNTS = Counts(9, 7, 7)


def fill(graph: Graph) -> None:
    write(graph, *RELATIONS)
    graph.write(LONELY, ())
    graph.attach(MEDIA)


def filled(file: Path) -> Path:
    with closing(SqliteGraph(file)) as graph:
        fill(graph)
    return file


def graph_in(server: AnyServer) -> Graph:
    return open_graph(server.url, server.password)


# --- what is there ---------------------------------------------------------------------------

Contents = dict[str, list[dict[str, Any]]]
"""Entities, relations and media by their keys; what is null is absent."""


def in_sqlite(file: Path) -> Contents:
    """As the tables have it, lists of media unpacked."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        return {
            table: [_present(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY 1")]
            for table in ("entity", "relation", "media")
        }


def _present(row: sqlite3.Row) -> dict[str, Any]:
    lists = ("image", "audio", "visual")
    values = {key: row[key] for key in row.keys() if row[key] is not None}  # noqa: SIM118
    return {key: json.loads(each) if key in lists else each for key, each in values.items()}


def in_neo4j(server: AnyServer) -> Contents:
    """As the driver gives it, nothing of ours in between."""
    entities = ask(server, "MATCH (n:Entity) RETURN properties(n) AS p ORDER BY p.uri")
    media = ask(server, "MATCH (m:Media) RETURN properties(m) AS p ORDER BY p.path")
    relations = ask(
        server,
        """MATCH (a:Entity)-[r]->(b:Entity) RETURN properties(r) AS p,
        {type: type(r), start_uri: a.uri, end_uri: b.uri} AS more ORDER BY p.uri""",
    )
    return {
        "entity": [row["p"] for row in entities],
        "relation": [row["more"] | row["p"] for row in relations],
        "media": [row["p"] for row in media],
    }


def assert_graph_is(server: AnyServer, lines: list[str]) -> None:
    """Exactly what a harvest of these lines reaches from its first concept."""
    concepts, relations = walk(lines, "/c/en/0")
    found = ask(server, "MATCH (n:Entity) RETURN n.uri AS uri")
    assert sorted(each["uri"] for each in found) == sorted(concepts)
    found = ask(server, "MATCH ()-[r]->() RETURN r.uri AS uri")
    assert sorted(each["uri"] for each in found) == sorted(relations)
