"""The worker: a leased document -> what is stored of it and where it goes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.engine.stage import Done, Stage, Task
from tools.errors import GiveUp, Unavailable
from tools.structure.hosts import Hosts
from tools.structure.parse import Parse, ParsedDocument, UnparsedDocument
from tools.structure.raw import Raw
from tools.structure.registry import Parsers, Rule

pytestmark = pytest.mark.timeout(60)
STAGE = Stage("parse", 1)
SOURCE = "folder:raw"
OWN = """class RawParser:
    def parse(self, raw, about):
        print("seen", about["source"], about["job"])
        return {"n": int(raw)}
"""


class Shelf(dict[str, bytes]):
    """A source whose bytes are at hand."""

    def read(self, place: str) -> bytes:
        if place not in self:
            raise GiveUp(f"{place} is gone")
        return self[place]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf({"1.txt": b"17", "2.txt": b"x", "a.json": b"[1]"})


@pytest.fixture
def worker(tmp_path: Path, shelf: Shelf) -> Iterator[Parse]:
    (tmp_path / "own.py").write_text(OWN)
    parsers = Parsers([Rule("*.txt", "own.py"), Rule("*.json", "json")], tmp_path)
    hosts = Hosts()
    yield Parse("tea", {SOURCE: shelf}, parsers, hosts)
    hosts.close()


def task(name: str, content: bytes, of: str = SOURCE) -> Task:
    note = Raw(name, of, name, None, len(content), "own.py").as_note()
    uri = f"tea {hashlib.sha256(content).hexdigest()}"
    return Task(1, uri, STAGE, None, 0, 0, note=note)


def test_a_document_is_parsed(
    worker: Parse, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    done = worker(task("1.txt", b"17"))

    assert isinstance(done.records, ParsedDocument)
    assert (done.to, done.records.json, done.records.bytes) == ("to_export", b'{"n":17}', 2)
    assert done.records.hash == hashlib.sha256(b"17").hexdigest()
    assert (done.records.source, done.records.parser) == ("1.txt", "own.py")
    assert done.tally["parsed own.py"] == 1 and "parse ms own.py" in done.tally
    assert "1.txt: parser own.py says: seen 1.txt tea" in caplog.text


def test_a_failure_says_which_parser_it_was(worker: Parse) -> None:
    done = worker(task("2.txt", b"x"))

    assert isinstance(done.records, UnparsedDocument)
    assert (done.to, done.tally) == ("failed", {"failed own.py": 1})
    assert done.reason is not None and done.reason.startswith("ValueError: invalid literal")
    assert done.records.parser_hash


def test_an_edited_script_is_used_with_the_next_document(worker: Parse, tmp_path: Path) -> None:
    def parser_hash(done: Done) -> str:
        assert isinstance(done.records, ParsedDocument)
        return done.records.parser_hash

    before = parser_hash(worker(task("1.txt", b"17")))
    (tmp_path / "own.py").write_text(OWN.replace("int(raw)", "-int(raw)"))
    done = worker(task("1.txt", b"17"))

    assert isinstance(done.records, ParsedDocument) and done.records.json == b'{"n":-17}'
    assert parser_hash(done) != before
    (tmp_path / "own.py").unlink()
    with pytest.raises(Unavailable):
        worker(task("1.txt", b"17"))


def test_a_source_that_changed_meanwhile_brings_it_under_another_name(
    worker: Parse, shelf: Shelf
) -> None:
    was = task("1.txt", b"17")
    shelf["1.txt"] = b"18"
    assert worker(was) == Done("finished", tally={"superseded": 1})


@pytest.mark.parametrize(
    ("name", "content", "of", "reason"),
    [
        ("1.txt", b"", SOURCE, "empty"),
        ("3.txt", b"3", SOURCE, "3.txt is gone"),
        ("1.txt", b"17", "csv:x", "its source csv:x is no longer one of the job's"),
    ],
)
def test_what_no_parser_has_seen(
    worker: Parse, name: str, content: bytes, of: str, reason: str
) -> None:
    with pytest.raises(GiveUp, match=reason):
        worker(task(name, content, of))


def test_what_there_is_no_parser_for_waits_for_one(worker: Parse) -> None:
    done = worker(task("x.odd", b"3"))
    assert (done.to, done.reason) == ("failed", "no parser of the job matches its name or type")
    assert isinstance(done.records, UnparsedDocument) and done.records.parser == ""


def test_a_name_that_is_no_text(
    worker: Parse, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    shelf["\udcff.txt"] = b"17"
    done = worker(task("\udcff.txt", b"17"))
    assert isinstance(done.records, ParsedDocument) and done.records.json == b'{"n":17}'
    assert "parser" in caplog.text and caplog.text.encode(), "of what it says"


def test_built_in_and_without_an_export(worker: Parse) -> None:
    worker._then = "finished"
    done = worker(task("a.json", b"[1]"))
    assert (done.to, done.tally["parsed json"]) == ("finished", 1)
