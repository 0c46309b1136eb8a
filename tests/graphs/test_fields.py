"""Whatever lists the fields of the records lists the same ones."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tools.add import KINDS, Media
from tools.exports import ntriples
from tools.extend import media_kinds
from tools.graphs import cypher
from tools.graphs.fields import TABLES, Field, names
from tools.graphs.sqlite import SqliteGraph
from tools.media.credits import COLUMNS
from tools.sheets.album import TYPES
from tools.sheets.wording import SECTIONS, WORDS

ROOT = Path(__file__).parents[2]
IN_SQLITE = {str: "TEXT", int: "INTEGER", float: "REAL", list: "TEXT"}
ENDS = {"start": "start_uri", "end": "end_uri"}


def test_the_tables_are_what_the_records_say() -> None:
    assert TABLES["entities"] == (
        *(Field(name, str) for name in ("uri", "name", "language", "term")),
        *(Field("sense", str, is_optional=True), *(Field(kind, list, True) for kind in KINDS)),
    )
    weight, surface = TABLES["relations"][4:6]
    assert (weight, surface) == (Field("weight", float), Field("surfaceText", str, True))
    assert names(TABLES["media"])[:3] == ("path", "owner", "kind")
    assert set(names(TABLES["media"])) == {*Media._fields, "owner"}


@pytest.mark.parametrize(
    ("table", "name"), [("entity", "entities"), ("relation", "relations"), ("media", "media")]
)
def test_the_embedded_graph_has_a_column_for_each(tmp_path: Path, table: str, name: str) -> None:
    SqliteGraph(tmp_path / "graph.db").close()
    with closing(sqlite3.connect(tmp_path / "graph.db")) as db:
        columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    assert [(column, type_, bool(required)) for _, column, type_, required, *_ in columns] == [
        (ENDS.get(each.name, each.name), IN_SQLITE[each.type], not each.is_optional)
        for each in TABLES[name]
    ]


def test_neo4j_gives_back_every_field() -> None:
    given = (cypher.READ_ENTITIES, cypher.RELATION, cypher.READ_MEDIA)
    entity, relation, media = (re.findall(r"\b[nrm]\.(\w+)(?=,| ORDER|$)", text) for text in given)
    lists = len(KINDS)
    assert entity == list(names(TABLES["entities"])[:-lists])
    assert relation == ["uri", *names(TABLES["relations"])[4:-lists]]
    assert media == [name for name in names(TABLES["media"]) if name != "owner"]


def test_rdf_has_a_predicate_for_each_field_of_a_file() -> None:
    assert tuple(ntriples.OF_MEDIA) == Media._fields
    assert list(ntriples.OF_KIND) == list(KINDS)


def test_whoever_has_something_of_each_kind_has_it_of_all_of_them() -> None:
    tables: list[Mapping[str, object]] = [
        media_kinds(sounds=False),
        SECTIONS,
        WORDS,
        TYPES,
        ntriples.OF_KIND,
    ]
    for table in tables:
        assert table.keys() == KINDS.keys()


def test_credits_are_fields_of_a_file() -> None:
    """That the node has the same is held by tests/scripts/test_receive.py."""
    assert set(COLUMNS) < set(names(TABLES["media"]))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (r"\(:Entity \{([^}]+)\}", names(TABLES["entities"])),
        (r"\[:IsA \{([^}]+)\}", ("uri", *names(TABLES["relations"])[4:])),
        (r"\(:Media \{([^}]+)\}", names(TABLES["media"])),
    ],
)
def test_the_readme_lists_the_same(shown: str, expected: tuple[str, ...]) -> None:
    found = re.search(shown, (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None and tuple(re.split(r",\s+", found[1])) == expected
