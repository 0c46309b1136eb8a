"""The books beside the media: nothing twice, nothing torn, nothing without a file."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.store_contract import image
from tools.add import Attachment
from tools.errors import RetryLater, StateDamaged, StopHarvest
from tools.media import ledger as ledger_module
from tools.media.ledger import Ledger
from tools.media.ledger_lines import CREDITS, FILES, SEARCHES, owner_in_csv


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    (tmp_path / "m").mkdir()
    with closing(Ledger(tmp_path / "m")) as ledger:
        yield ledger


def found(folder: Path, owner: str, *paths: str) -> Attachment:
    return Attachment(owner, [image(path) for path in paths], {"owner": owner, "refused": []})


def lines(folder: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in (folder / "m" / name).read_text().splitlines()]


def contents(folder: Path) -> list[bytes]:
    return [(folder / "m" / name).read_bytes() for name in (FILES, SEARCHES, CREDITS)]


def credits(folder: Path) -> list[dict[str, str]]:
    with (folder / "m" / CREDITS).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_file_stands_in_the_books_with_its_credit(ledger: Ledger, tmp_path: Path) -> None:
    assert not ledger
    ledger.add([found(tmp_path, "/c/en/dog", "a.png", "b.png"), found(tmp_path, "/c/en/cat")])
    ledger.add([found(tmp_path, "/c/en/cow", "c.png")])
    assert ledger
    assert [line["path"] for line in lines(tmp_path, FILES)] == ["a.png", "b.png", "c.png"]
    assert lines(tmp_path, FILES)[0] == {"owner": "/c/en/dog", **image("a.png")._asdict()}
    assert [row["author"] for row in credits(tmp_path)] == ["Ada"] * 3
    assert [row["owner"] for row in credits(tmp_path)] == ["/c/en/dog", "/c/en/dog", "/c/en/cow"]
    assert [line["owner"] for line in lines(tmp_path, SEARCHES)] == [
        "/c/en/dog", "/c/en/cat", "/c/en/cow",
    ]  # fmt: skip


def test_what_a_crash_left_is_taken_out(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([found(tmp_path, "/c/en/dog", "a.png", "b.png"), found(tmp_path, "/c/en/nothing")])
    before = contents(tmp_path)
    ledger.keep_finished(lambda owner: True)
    assert contents(tmp_path) == before
    ledger.add([found(tmp_path, "/c/en/cat", "c.png")])  # killed before the pools knew
    for name in (FILES, SEARCHES, CREDITS):
        with (tmp_path / "m" / name).open("a") as file:
            file.write('{"owner": "/c/en/to')  # a power cut
    ledger.keep_finished(lambda owner: owner != "/c/en/cat")
    assert contents(tmp_path) == before
    ledger.add([found(tmp_path, "/c/en/cat", "c.png")])
    assert [row["path"] for row in credits(tmp_path)] == ["a.png", "b.png", "c.png"]


def test_of_long_books_only_the_end_is_read(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.add([found(tmp_path, f"/c/en/{number}", f"{number}.png") for number in range(200)])
    before = contents(tmp_path)
    ledger.add([found(tmp_path, "/c/en/d", "d.png")])
    monkeypatch.setattr(ledger_module, "TAIL", 2000)
    asked: list[str] = []

    def is_finished(owner: str) -> bool:
        asked.append(owner)
        return owner != "/c/en/d"

    ledger.keep_finished(is_finished)
    assert contents(tmp_path) == before
    assert "/c/en/199" in asked and "/c/en/0" not in asked


def test_the_latest_concepts_come_first_and_once(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.latest(3) == []
    for owner in ("/c/en/a", "/c/en/b", "/a/[/r/HasA/,/c/en/a/,/c/en/b/]", "/c/en/c", "/c/en/a"):
        ledger.add([found(tmp_path, owner, f"{owner[-1]}.png")])
    assert ledger.latest(2) == ["/c/en/a", "/c/en/c"]


def test_a_cell_that_looks_like_a_formula_is_harmless(ledger: Ledger, tmp_path: Path) -> None:
    file = image("a.png")._replace(author='=HYPERLINK("http://evil")')
    ledger.add([Attachment("/c/en/dog", [file], {"owner": "/c/en/dog", "refused": []})])
    assert credits(tmp_path)[0]["author"] == '\'=HYPERLINK("http://evil")'


def refusing(number: int, *, error: int = errno.EIO) -> Callable[[int], None]:
    """A sync that is refused the so-many-th time, and then never again."""
    calls = iter(range(1, 1000))

    def sync(file: int) -> None:
        if next(calls) == number:
            raise OSError(error, os.strerror(error))

    return sync


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_refused_sync_is_remembered_and_nothing_of_it_stays(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Asked again the disk would say that all is well."""
    monkeypatch.setattr(ledger_module, "FLUSH_EVERY_S", -1.0)
    ledger.add([found(tmp_path, "/c/en/dog", "a.png")])
    before = contents(tmp_path)
    monkeypatch.setattr(os, "fdatasync", refusing(2, error=error))
    for _ in range(2):
        with pytest.raises(StopHarvest, match="cannot be written"):
            ledger.add([found(tmp_path, "/c/en/cat", "b.png")])
        assert contents(tmp_path) == before
    with pytest.raises(StopHarvest):
        ledger.hand_over(tmp_path)


def test_books_that_cannot_be_synced_are_not_handed_over(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.add([found(tmp_path, "/c/en/dog", "a.png")])
    monkeypatch.setattr(os, "fdatasync", refusing(1))
    for _ in range(2):
        with pytest.raises(StopHarvest):
            ledger.hand_over(tmp_path)
    assert not (tmp_path / FILES).exists()


def test_books_that_are_joined_are_joined_whole_or_not_at_all(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / SEARCHES).write_bytes(b"before\n")
    ledger.add([found(tmp_path, "/c/en/dog", "a.png")])
    monkeypatch.setattr(os, "fsync", refusing(1))
    with pytest.raises(StopHarvest):
        ledger.hand_over(tmp_path)
    assert (tmp_path / SEARCHES).read_bytes() == b"before\n"


def test_nothing_is_written_down_in_a_folder_that_is_not_the_claimed_one(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    with closing(Ledger(folder)) as ledger:
        assert ledger.claim("one")
        folder.rename(tmp_path / "away")
        folder.mkdir()
        with pytest.raises(StateDamaged, match="moved or removed"):
            ledger.add([found(tmp_path, "/c/en/dog")])
        with pytest.raises(StateDamaged):
            ledger.hand_over(tmp_path)
        assert list(folder.iterdir()) == []


def test_who_lacks_a_file_is_not_written_down(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / "m")) as ledger:
        assert ledger.claim("one")
        there = found(tmp_path, "/c/en/dog", "a.png")
        with pytest.raises(RetryLater, match=r"a\.png is not there"):
            ledger.require([there])
        (tmp_path / "m/a.png").write_bytes(bytes(there.media[0].bytes))
        ledger.require([there])


def test_a_folder_that_cannot_be_written_stops_the_harvest(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("a file where a folder should be")
    with pytest.raises(StopHarvest, match="cannot be written"):
        Ledger(tmp_path / "m").add([Attachment("/c/en/dog", [], {"owner": "/c/en/dog"})])


def test_a_very_long_name_locks_nobody_out(ledger: Ledger, tmp_path: Path) -> None:
    """Its line is read back at every start."""
    owner = "/c/en/" + "x" * 200_000
    ledger.add([found(tmp_path, "/c/en/dog", "a.png"), found(tmp_path, owner, "b.png")])
    before = contents(tmp_path)
    ledger.keep_finished(lambda _: True)
    assert contents(tmp_path) == before
    ledger.keep_finished({"/c/en/dog"}.__contains__)
    assert [row["owner"] for row in credits(tmp_path)] == ["/c/en/dog"]


@pytest.mark.parametrize("damage", [b'"\x00', b'a,"b"c,\r"d,', b'"' * 300_000, b"\xff,,,"])
def test_a_line_that_is_no_table_row_is_taken_out(
    ledger: Ledger, tmp_path: Path, damage: bytes
) -> None:
    ledger.add([found(tmp_path, "/c/en/dog", "a.png")])
    before = contents(tmp_path)
    with (tmp_path / "m" / CREDITS).open("ab") as file:
        file.write(damage + b"\n")
    ledger.keep_finished({"/c/en/dog"}.__contains__)
    assert contents(tmp_path) == before


def test_a_row_that_ends_within_a_cell_has_no_owner() -> None:
    assert owner_in_csv(b"a\rb,/c/en/dog\n") is None
