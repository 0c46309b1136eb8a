"""documents.db: what is written is read, who owns bytes, what a crash leaves, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.errors import StateDamaged
from tools.structure.documents import Documents, create_documents
from tools.structure.export_line import ExportLine
from tools.structure.parse import ParsedDocument, UnparsedDocument
from tools.structure.raw import Raw
from tools.structure.sighted import Known, Sighted

A, B, C = "a" * 64, "b" * 64, "c" * 64
FOLDER = "folder:raw"


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Documents]:
    create_documents(tmp_path / "documents.db")
    found = Documents(tmp_path / "documents.db", "register")
    yield found
    found.close()


def parsed(hash_: str, json: bytes = b"{}", seconds: float = 0.5) -> ParsedDocument:
    return ParsedDocument(hash_, "s1", "html", "v1", 1.0, seconds, 10, json, 100)


def sight(documents: Documents, stretch: int, **seen: str) -> None:
    rows = [(name, hash_, None, "v", stretch) for name, hash_ in seen.items()]
    notes = [Raw(name, FOLDER, name, None, 1, "html").as_note() for name in seen]
    documents.sight(Sighted(rows, [], notes), 1.0)


def test_json_comes_back_as_it_was(documents: Documents) -> None:
    documents.add([parsed(A, '{"企业": 1}'.encode()), parsed(B, b"[]")])
    assert documents.json_of(A) == ('{"企业": 1}'.encode(), "s1")
    assert documents.json_of(C) is None


def test_a_document_that_is_parsed_at_last_is_no_failure(documents: Documents) -> None:
    documents.add([], [UnparsedDocument(A, "s1", "html", "v0", 1.0)])
    documents.add([parsed(A)])
    assert list(documents.select("SELECT * FROM failure")) == []


def test_figures_of_a_parser(documents: Documents) -> None:
    documents.add([parsed(A, seconds=0.5), parsed(B, seconds=2.0)])
    documents.add([parsed(C, seconds=1.0)])
    assert list(documents.select("SELECT * FROM parser")) == [("html", 3, 3.5, 2.0, "s1", 100)]


def test_the_owner_is_who_was_seen_first(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=A, s3=B)
    assert documents.holders([A, B, C]) == {A: ["s1", "s2"], B: ["s3"]}


def test_a_source_is_known_when_the_pools_have_counted_its_stretch(documents: Documents) -> None:
    sight(documents, 1, s1=A)
    assert documents.known(["s1"], 0) == {}
    assert documents.known(["s1", "s2"], 1) == {"s1": Known(A, None, "v")}


def test_what_did_not_reach_the_pools_stays_unknown_until_it_is_seen_again(
    documents: Documents,
) -> None:
    sight(documents, 1, s1=A, s2=B)
    documents.doubt_after(FOLDER, 0)  # killed before the pools moved
    sight(documents, 1, s2=B)  # another stretch than last time
    assert documents.known(["s1", "s2"], 1) == {"s2": Known(B, None, "v")}


def test_a_stretch_that_is_brought_twice_is_doubted_too(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=B)
    sight(documents, 1, s2=B)
    assert documents.known(["s1", "s2"], 1) == {"s2": Known(B, None, "v")}


def test_what_a_source_had_before_is_known_even_if_its_new_bytes_are_not(
    documents: Documents,
) -> None:
    sight(documents, 1, s1=A)
    rows = [("s1", B, A, "w", 2)]
    documents.sight(Sighted(rows, [], [Raw("s1", FOLDER, "s1", None, 1, "").as_note()]), 2.0)
    assert documents.known(["s1"], 2) == {"s1": Known(B, A, "w")}
    documents.doubt_after(FOLDER, 1)
    assert documents.known(["s1"], 9) == {"s1": Known(A, None, "")}


def test_the_places_of_bytes_are_known(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=A)
    assert len(documents.notes_of(A)) == 2
    assert documents.notes_of(B) == []


def test_exports_are_logged(documents: Documents) -> None:
    documents.log_exports([ExportLine(A, 1.0, "done", 3, 1), ExportLine(B, 2.0, "failed")])
    assert list(documents.select("SELECT document, status, rows, problems FROM exports")) == [
        (A, "done", 3, 1),
        (B, "failed", 0, 0),
    ]


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 30])
def test_what_is_no_store_of_documents_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "documents.db"
    file.write_bytes(content)
    with pytest.raises(StateDamaged, match=r"documents\.db"):
        Documents(file, "register")
    assert file.read_bytes() == content
