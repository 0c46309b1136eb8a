"""The books beside the media: nothing twice, nothing torn, nothing without a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.store_contract import image
from tools.add import Attachment
from tools.errors import StopHarvest
from tools.ledger import CREDITS, FILES, SEARCHES, Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "m")


def found(folder: Path, owner: str, *paths: str, refused: tuple[str, ...] = ()) -> Attachment:
    for path in paths:
        (folder / "m" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "m" / path).touch()
    search = {"owner": owner, "refused": [{"reason": each} for each in refused]}
    return Attachment(owner, [image(path) for path in paths], search)


def lines(folder: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in (folder / "m" / name).read_text().splitlines()]


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


def test_what_a_crash_left_is_put_right(ledger: Ledger, tmp_path: Path) -> None:
    dog = found(tmp_path, "/c/en/dog", "a.png", "gone.png")
    ledger.add([dog])
    ledger.add([dog])  # killed before the pools knew
    (tmp_path / "m/gone.png").unlink()
    for name in (FILES, SEARCHES, CREDITS):
        with (tmp_path / "m" / name).open("a") as file:
            file.write('{"owner": "/c/en/to')  # a power cut
    ledger.tidy()
    ledger.add([found(tmp_path, "/c/en/cat", "c.png")])
    assert [line["path"] for line in lines(tmp_path, FILES)] == ["a.png", "c.png"]
    assert [row["path"] for row in credits(tmp_path)] == ["a.png", "c.png"]
    assert [line["owner"] for line in lines(tmp_path, SEARCHES)] == ["/c/en/dog", "/c/en/cat"]
    before = (tmp_path / "m" / FILES).stat().st_mtime_ns
    ledger.tidy()
    assert (tmp_path / "m" / FILES).stat().st_mtime_ns == before, "nothing to do, nothing written"


def test_the_latest_concepts_come_first_and_once(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.latest(3) == []
    for owner in ("/c/en/a", "/c/en/b", "/a/[/r/HasA/,/c/en/a/,/c/en/b/]", "/c/en/c", "/c/en/a"):
        ledger.add([found(tmp_path, owner, f"{owner[-1]}.png")])
    assert ledger.latest(2) == ["/c/en/a", "/c/en/c"]


def test_refusals_are_counted_by_reason_without_what_differs(
    ledger: Ledger, tmp_path: Path
) -> None:
    refused = ("cut short", "too many pixels (9x9)", "too many pixels (8x8)", "HTTP 404 for a/b")
    ledger.add([found(tmp_path, "/c/en/dog", refused=refused)])
    assert ledger.refusals() == {"too many pixels": 2, "cut short": 1, "HTTP 404": 1}


def test_a_cell_that_looks_like_a_formula_is_harmless(ledger: Ledger, tmp_path: Path) -> None:
    file = image("a.png")._replace(author='=HYPERLINK("http://evil")')
    (tmp_path / "m").mkdir()
    ledger.add([Attachment("/c/en/dog", [file], {"owner": "/c/en/dog", "refused": []})])
    assert credits(tmp_path)[0]["author"] == '\'=HYPERLINK("http://evil")'


def test_a_folder_that_cannot_be_written_stops_the_harvest(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("a file where a folder should be")
    with pytest.raises(StopHarvest, match="cannot be written"):
        Ledger(tmp_path / "m").add([Attachment("/c/en/dog", [], {"owner": "/c/en/dog"})])
