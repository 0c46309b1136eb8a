"""documents.db: what is written is read, who owns bytes, what a crash leaves, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.errors import StateDamaged
from tools.structure.documents import Documents, Known, create_documents
from tools.structure.records import ExportLine, Failure, ParsedDocument, Sighted, Sighting

A, B, C = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Documents]:
    create_documents(tmp_path / "documents.db")
    found = Documents(tmp_path / "documents.db", "register")
    yield found
    found.close()


def parsed(hash_: str, json: bytes = b"{}", seconds: float = 0.5) -> ParsedDocument:
    return ParsedDocument(hash_, "s1", "html", "v1", 1.0, seconds, 10, json, 100)


def sight(documents: Documents, stretch: int, **seen: str) -> list[str]:
    sightings = [Sighting(name, hash_, "v") for name, hash_ in seen.items()]
    return sorted(documents.sight(Sighted(stretch, sightings), 1.0))


def test_json_comes_back_as_it_was(documents: Documents) -> None:
    documents.add([parsed(A, '{"企业": 1}'.encode()), parsed(B, b"[]")])
    assert documents.json_of(A) == '{"企业": 1}'.encode()
    assert documents.json_of(C) is None


def test_a_document_that_is_parsed_at_last_is_no_failure(documents: Documents) -> None:
    documents.add([], [Failure(A, "html", "v0", 1.0)])
    documents.add([parsed(A)])
    assert list(documents.select("SELECT * FROM failure")) == []


def test_figures_of_a_parser(documents: Documents) -> None:
    documents.add([parsed(A, seconds=0.5), parsed(B, seconds=2.0)])
    documents.add([parsed(C, seconds=1.0)])
    assert list(documents.select("SELECT * FROM parser")) == [("html", 3, 3.5, 2.0, "s1", 100)]


def test_the_owner_is_who_was_seen_first(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=A, s3=B)
    assert documents.having([A, B, C]) == {A: ["s1", "s2"], B: ["s3"]}


def test_a_source_is_known_when_the_pools_have_counted_its_stretch(documents: Documents) -> None:
    sight(documents, 1, s1=A)
    assert documents.known(["s1"], 0) == {}
    assert documents.known(["s1", "s2"], 1) == {"s1": Known(A, "v")}


def test_what_did_not_reach_the_pools_stays_unknown_until_it_is_seen_again(
    documents: Documents,
) -> None:
    sight(documents, 1, s1=A, s2=B)
    documents.doubt_after(0)  # killed before the pools moved
    sight(documents, 1, s2=B)  # another stretch than last time
    assert documents.known(["s1", "s2"], 1) == {"s2": Known(B, "v")}


def test_a_stretch_that_is_brought_twice_is_doubted_too(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=B)
    sight(documents, 1, s2=B)
    assert documents.known(["s1", "s2"], 1) == {"s2": Known(B, "v")}


def test_first_sightings_have_nothing_to_be_stored_again(documents: Documents) -> None:
    assert sight(documents, 1, s1=A, s2=A) == []


def test_a_new_source_with_known_bytes_changes_nothing(documents: Documents) -> None:
    sight(documents, 1, s1=A)
    documents.add([parsed(A)])
    assert sight(documents, 2, s2=A) == []


def test_a_new_source_with_bytes_that_nobody_has_any_more_owns_them(documents: Documents) -> None:
    sight(documents, 1, s1=A)
    documents.add([parsed(A), parsed(B)])
    sight(documents, 2, s1=B)
    assert sight(documents, 3, s2=A) == [A]


def test_a_source_that_returns_to_bytes_has_them_stored_again(documents: Documents) -> None:
    sight(documents, 1, s1=A)
    documents.add([parsed(A), parsed(B)])
    assert sight(documents, 2, s1=B) == [B]
    assert sight(documents, 3, s1=A) == [A]


def test_bytes_that_are_left_to_others_are_stored_again(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=A)
    documents.add([parsed(A)])
    assert sight(documents, 2, s1=C) == [A]
    assert documents.having([A]) == {A: ["s2"]}


def test_a_newer_version_of_the_same_bytes_stores_nothing_again(documents: Documents) -> None:
    sight(documents, 1, s1=A)
    documents.add([parsed(A)])
    assert documents.sight(Sighted(2, [Sighting("s1", A, "touched")]), 2.0) == []
    assert documents.known(["s1"], 2) == {"s1": Known(A, "touched")}


def test_what_a_crash_interrupted_is_stored_again(documents: Documents) -> None:
    sight(documents, 1, s1=A, s2=A)
    documents.add([parsed(A), parsed(B)])
    sight(documents, 2, s1=B)
    documents.doubt_after(1)
    assert sight(documents, 2, s1=B) == [A, B]


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
