"""Credits: every file is named once, as its record tells, and nothing in it can do harm."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tools.add import Entity, Media, Relation
from tools.errors import UsageError
from tools.graphs.sqlite import SqliteGraph
from tools.media.credits import COLUMNS, Credit, as_csv, as_text, attribution
from tools.media.graph_credits import BATCH, credits

DOG, CAT = "/c/en/dog", "/c/en/cat"
BARKS = "/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]"
CHASES = "/a/[/r/Desires/,/c/en/dog/,/c/en/cat/]"
PICTURE = Media(
    path="en/dog/image/0.jpg",
    kind="image",
    mime="image/jpeg",
    sha256="ab" * 32,
    bytes=1000,
    width=640,
    height=480,
    duration=None,
    license="cc-by-sa-4.0",
    license_url="https://creativecommons.org/licenses/by-sa/4.0/",
    author="Ada",
    page="https://example.org/page",
    source="https://example.org/0.jpg",
    provider="commons",
    title="A dog",
    time="2026-11-16T10:00:00Z",
)


def at(path: str) -> Media:
    return PICTURE._replace(path=path)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[SqliteGraph]:
    with closing(SqliteGraph(tmp_path / "graph.db")) as opened:
        barks = Relation(BARKS, "CapableOf", DOG, "/c/en/bark", 1.0, None, None, None)
        chases = Relation(CHASES, "Desires", DOG, CAT, 2.0, None, None, None)
        opened.write([], [barks, chases])
        opened.attach({DOG: [at("dog/1"), at("dog/0")], BARKS: [at("barks/0")]})
        opened.attach({CAT: [at("cat/0")], CHASES: [at("chases/0")]})
        yield opened


def paths(graph: SqliteGraph, concepts: Sequence[str] | None) -> list[str]:
    return [each.media.path for each in credits(graph, concepts)]


def test_a_concept_has_the_credits_of_its_own_files_and_of_its_relations(
    graph: SqliteGraph,
) -> None:
    assert paths(graph, [DOG]) == ["dog/1", "dog/0", "chases/0", "barks/0"]
    assert paths(graph, [CAT]) == ["cat/0", "chases/0"]
    assert paths(graph, ["/c/en/bark"]) == ["barks/0"]


def test_a_relation_between_two_of_the_concepts_is_credited_once(graph: SqliteGraph) -> None:
    assert sorted(paths(graph, [DOG, CAT, DOG])) == sorted(paths(graph, None))


def test_without_a_concept_every_file_of_the_graph_is_credited(graph: SqliteGraph) -> None:
    assert paths(graph, None) == ["cat/0", "dog/1", "dog/0", "barks/0", "chases/0"]
    owners = [each.owner for each in credits(graph, None)]
    assert owners == [CAT, DOG, DOG, BARKS, CHASES]


def test_a_large_graph_is_asked_in_batches(
    graph: SqliteGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    media_of = graph.media_of

    def counting(owners: Sequence[str]) -> dict[str, list[Media]]:
        asked.append(len(owners))
        return media_of(owners)

    graph.write([Entity.of(f"/c/en/x{number}") for number in range(2 * BATCH)], [])
    graph.attach({f"/c/en/x{2 * BATCH - 1}": [at("x/0")]})
    monkeypatch.setattr(graph, "media_of", counting)
    found = credits(graph, None)
    assert next(found).media.path == "cat/0"
    assert asked == [BATCH]  # nothing is read ahead
    assert [each.media.path for each in found][2] == "x/0"
    assert asked == [BATCH, BATCH, 5]  # three concepts and both relations are left


@pytest.mark.parametrize("concept", ["/c/en/unheard_of", "dog", BARKS])
def test_a_concept_that_is_not_there_is_told_before_anything_is_written(
    graph: SqliteGraph, concept: str
) -> None:
    with pytest.raises(UsageError, match="is not"):
        credits(graph, [DOG, concept])


# --- as text -----------------------------------------------------------------------------------


def test_text_names_file_title_author_licence_and_page_below_the_owner(graph: SqliteGraph) -> None:
    def line(path: str) -> str:
        return (
            f'  {path}: "A dog" by Ada, CC BY-SA 4.0'
            " (https://creativecommons.org/licenses/by-sa/4.0/), https://example.org/page"
        )

    own, others = [line("dog/1"), line("dog/0")], [CHASES, line("chases/0"), BARKS, line("barks/0")]
    assert list(as_text(credits(graph, [DOG]))) == [DOG, *own, *others]


def test_what_is_not_recorded_is_left_out() -> None:
    bare = PICTURE._replace(title=None, author=None, license_url=None, page=None, license="pd")
    assert attribution(bare) == '"en/dog/image/0.jpg", public domain'
    assert attribution(bare._replace(license=None)).endswith("licence not recorded")


def test_what_a_provider_asks_for_is_told() -> None:
    assert attribution(PICTURE._replace(remark="no AI")).endswith("/page, no AI")


def test_no_text_steers_the_terminal() -> None:
    hostile = "a\x1b]0;x\x07\n/c/en/forged\r\u202eb\x9b31m\u2066"
    fields = ("path", "title", "author", "license", "license_url", "page", "remark")
    texts: dict[str, Any] = dict.fromkeys(fields, hostile)
    media = PICTURE._replace(**texts)
    lines = list(as_text([Credit(hostile, media)]))
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


# --- as a table --------------------------------------------------------------------------------


def table(*given: Credit) -> list[list[str]]:
    file = io.StringIO(newline="")
    as_csv(given, file)
    return list(csv.reader(io.StringIO(file.getvalue(), newline="")))


def test_a_table_has_a_row_for_each_file(graph: SqliteGraph) -> None:
    header, first, *rest = table(*credits(graph, None))
    assert tuple(header) == COLUMNS
    expected = at("cat/0")._asdict() | {"owner": CAT}
    assert dict(zip(header, first, strict=True)) == {each: expected[each] for each in COLUMNS}
    assert len(rest) == 4


def test_hard_texts_come_back_to_the_letter() -> None:
    hard = 'a "b", \n\r\n;ü😀\t= '
    _, row = table(Credit(DOG, PICTURE._replace(title=hard, author=None)))
    assert row[COLUMNS.index("title")] == hard
    assert row[COLUMNS.index("author")] == ""


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
@pytest.mark.parametrize("field", ["title", "author", "path", "page", "license"])
def test_no_cell_begins_like_a_formula(field: str, begin: str) -> None:
    text = f'{begin}HYPERLINK("https://example.org","x")'
    changed: dict[str, Any] = {field: text}
    _, row = table(Credit(DOG, PICTURE._replace(**changed)))
    assert row[COLUMNS.index(field)] == f"'{text}"
