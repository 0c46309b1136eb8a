"""receive.py and batches of web archives: each harvest has a folder, and nothing in it changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.crafted import (
    DOG,
    FINE,
    QUARANTINED,
    Receive,
    archive_batch,
    assert_all_taken,
    assert_has,
    batch,
    craft,
    name_of,
    new_node,
    plain,
    receipt,
    receiving,
    sha256,
)
from tests.support.crafted import receive as script
from tools.archive import cdxj
from tools.archive.names import OURS, file_name, piece_name
from tools.shipping.batch import ARCHIVE, FORMATS, MEDIA

HARVEST, OTHER = "3f2a9c10", "77777777"
FIRST, SECOND = (f"ab/a.org/a.org-20261117000000-0000{at}.warc.gz" for at in range(2))
FILES = {FIRST: b"first", SECOND: b"second" * 1000}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return new_node(tmp_path)


@pytest.fixture
def run(node: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Receive]:
    with receiving(node, capfd) as run:
        yield run


def archive(node: Path, harvest: str = HARVEST) -> dict[str, bytes]:
    folder = node / "archive" / harvest
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_an_archive_has_the_folder_of_its_harvest(node: Path, run: Receive) -> None:
    sent = archive_batch(1, FILES, HARVEST, in_a_volume=1)
    sent.send(node)
    assert run().code == FINE
    assert archive(node) == FILES and not (node / "m" / FIRST).exists()
    told = receipt(node, sent.name)
    assert (told["state"], told["files"], told["bytes"]) == ("merged", 2, 6005)
    assert told["manifest_sha256"] == sha256(sent.manifest)
    assert_all_taken(node)


def test_media_of_older_senders_come_beside_it(node: Path, run: Receive) -> None:
    """Whose manifests are of the first format, and do not say a kind."""
    media = batch(1, DOG)
    assert media.table["format"] == 1 and "kind" not in media.table
    media.send(node)
    archive_batch(2, FILES, HARVEST).send(node)
    assert run().code == FINE
    assert archive(node) == FILES
    assert_has(node, media)


def test_the_same_file_may_come_twice(node: Path, run: Receive) -> None:
    archive_batch(1, {FIRST: b"first"}, HARVEST).send(node)
    archive_batch(2, FILES, HARVEST).send(node)
    assert run().code == FINE
    assert archive(node) == FILES
    assert_all_taken(node)


def test_another_file_of_the_same_name_is_refused_and_nothing_taken(
    node: Path, run: Receive
) -> None:
    archive_batch(1, {SECOND: b"other"}, HARVEST).send(node)
    assert run().code == FINE
    sent = archive_batch(2, FILES, HARVEST)
    sent.send(node)
    said = run()
    assert said.code == QUARANTINED
    assert f"archive/{HARVEST}/{SECOND} is there already, and another one" in said.err
    assert archive(node) == {SECOND: b"other"}
    assert receipt(node, sent.name)["state"] == "quarantined"


def test_another_harvest_has_another_folder(node: Path, run: Receive) -> None:
    archive_batch(1, FILES, HARVEST).send(node)
    archive_batch(1, {FIRST: b"of another"}, OTHER).send(node)
    assert run().code == FINE
    assert (archive(node), archive(node, OTHER)) == (FILES, {FIRST: b"of another"})


def test_archives_without_an_index_are_taken_too(node: Path, run: Receive) -> None:
    sent = archive_batch(1, FILES, HARVEST)
    sent.table["format"] = 2
    sent.send(node)
    assert run().code == FINE
    assert archive(node) == FILES


def piece(file: str) -> str:
    return file.replace(".warc.gz", ".cdxj")


def test_the_index_of_each_file_becomes_part_of_the_whole(node: Path, run: Receive) -> None:
    """Sorted, each line once, and only of files that are there."""
    lost, torn = "ab/a.org/a.org-20261117000000-00009.cdxj", b"a half line"
    first = {FIRST: b"first", piece(FIRST): b"a 1\nc 3\n", lost: b"b lost\n"}
    archive_batch(1, first, HARVEST).send(node)
    assert run().code == FINE
    assert archive(node) == {FIRST: b"first", "index.cdxj": b"a 1\nc 3\n"}
    again = {**first, SECOND: b"second", piece(SECOND): b"b 2\nd 4\n" + torn}
    archive_batch(2, again, HARVEST, in_a_volume=3).send(node)
    assert run().code == FINE
    assert archive(node)["index.cdxj"] == b"a 1\nb 2\nc 3\nd 4\n"
    assert_all_taken(node)


def test_much_of_an_index_is_merged_in_parts(
    node: Path, run: Receive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "LINES_AT_ONCE", 10)
    files = [FIRST.replace("00000.", f"{at:05}.") for at in range(20)]
    lines = {piece(file): b"%03d\n%03d\n" % (at, 100 - at) for at, file in enumerate(files)}
    archive_batch(1, {**dict.fromkeys(files, b"x"), **lines}, HARVEST).send(node)
    assert run().code == FINE
    whole = sorted({line for each in lines.values() for line in each.splitlines(keepends=True)})
    assert archive(node)["index.cdxj"] == b"".join(whole)


@pytest.mark.parametrize("is_link", [True, False])
def test_an_index_that_is_none_is_left_alone(
    node: Path, run: Receive, tmp_path: Path, is_link: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"somebody's")
    place = node / "archive" / HARVEST / "index.cdxj"
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere) if is_link else place.mkdir()
    archive_batch(1, {FIRST: b"first", piece(FIRST): b"a 1\n"}, HARVEST).send(node)
    assert run().code == QUARANTINED
    assert elsewhere.read_bytes() == b"somebody's" and not (place.parent / FIRST).exists()


@pytest.mark.parametrize("what", ["link", "folder", "link above", "link to all"])
def test_nothing_is_written_through_what_stands_there(
    node: Path, run: Receive, tmp_path: Path, what: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = node / "archive" / HARVEST / FIRST
    if what == "link to all":
        (node / "archive").symlink_to(elsewhere)
    else:
        above = what == "link above"
        (place.parents[1] if above else place.parent).mkdir(parents=True)
        if what == "folder":
            place.mkdir()
        else:
            (place.parent if above else place).symlink_to(elsewhere)
    archive_batch(1, FILES, HARVEST).send(node)
    assert run().code != FINE
    assert list(elsewhere.iterdir()) == []


PATHS = (
    "MEDIA.jsonl",
    "a.org-20261117000000-00000.warc.gz",
    "ab/a.org/b.org-20261117000000-00000.warc.gz",
    "ab/a.org/a.org-20261117000000-00000.warc",
    "ab/a.org/a.org-20261117000000-00000.warc.gz/x",
    "ab/a.org/HARVEST",
    "index.cdxj",
    "ab/a.org/b.org-20261117000000-00000.cdxj",
    "AB/a.org/a.org-20261117000000-00000.warc.gz",
    "ab/../../-20261117000000-00000.warc.gz",
)


@pytest.mark.parametrize("path", PATHS)
def test_what_no_archive_holds_is_refused(node: Path, run: Receive, path: str) -> None:
    sent = craft(name_of(1), [[plain(path, b"x")]], [[(path, b"x")]])
    sent.table |= {"format": 2, "kind": "archive"}
    sent.send(node)
    assert run().code == QUARANTINED
    assert not (node / "archive").exists() or archive(node) == {}


def test_the_script_and_the_harvest_mean_the_same() -> None:
    assert (script.MEDIA, script.ARCHIVE, len(script.KINDS)) == (MEDIA, ARCHIVE, len(FORMATS))
    for label in ("example.org", "2001-db8--1", "_..-etc-f7f9121f", "x" * 200):
        name = file_name(label, datetime(2026, 5, 4, tzinfo=UTC), 7)
        assert script.WARC.fullmatch(name) and OURS.fullmatch(name) and script.is_safe(name)
        assert script.PIECE.fullmatch(piece_name(name)) and cdxj.FILE == script.INDEX
