"""A graph that an attacker wrote by hand: every page of it answers, and none leads elsewhere."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.web import hand
from tests.web.eyes import Eyes
from tests.web.scene import Served, copied, served, wait_for

DOG = "/c/en/dog"
ELSEWHERE = "//evil.example/x"
ENDS = (
    *("/a/", "/a/[x", "/a/[,,]", ELSEWHERE, "", "/", "/c", "/c/", "/c/en/", "javascript:alert(1)"),
    *("\\\\evil\\x", "/c/en/?a=b#c", "/c/en/" + "x" * 5000, "/c/en/'\"><script>\n\x00\u202e"),
)
LISTS = ("no JSON", "[1, null, {}]", "5", '{"a": 1}', '["/etc/passwd"]', "[" * 9000)
WEIGHTS = (float("inf"), float("-inf"), -5.0, 5e-324)
ENTITY = "INSERT OR REPLACE INTO entity (uri, name, language, term) VALUES (?, ?, ?, ?)"
RELATION = """INSERT OR REPLACE INTO relation (uri, type, start_uri, end_uri, weight, audio)
    VALUES (?, ?, ?, ?, ?, ?)"""
MEDIA = """INSERT INTO media (path, owner, kind, mime, sha256, bytes, width, height, duration, time)
    VALUES (?, ?, 'image', 'image/png', ?, 1, -5, ?, 1e999, '-9999-99-99')"""
HASHES = ("\u202e\r\nX-Evil: 1", "-" * 64, "\u0663" * 64, "f" * 64, "")


@pytest.fixture(scope="module")
def hostile(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = copied(harvested, tmp_path_factory.mktemp("hostile"))
    with closing(sqlite3.connect(folder / "state" / "graph.db")) as db, db:
        for number, end in enumerate(ENDS):
            spread = LISTS[number % len(LISTS)], WEIGHTS[number % len(WEIGHTS)]
            poison(db, number, end, *spread)
        files = [file(folder / "m", number) for number in range(len(ENDS))]
        rows = zip(files, ENDS, (HASHES * 3)[: len(ENDS)], strict=True)
        db.executemany(MEDIA, [(*each, 2**62) for each in rows])
        db.execute("UPDATE entity SET image = ? WHERE uri = ?", (json.dumps(files), DOG))
    (folder / "m" / "circle").symlink_to("circle")
    with served(folder) as page:
        wait_for(lambda: page.get("/api/media").json["is_whole"])
        yield page


def poison(db: sqlite3.Connection, number: int, end: str, lists: str, weight: float) -> None:
    db.execute(ENTITY, (end, end, "en", end))
    db.execute("UPDATE entity SET image = ? WHERE uri = ?", (lists, end))
    for start, stop in ((DOG, end), (end, DOG)):
        for type_ in ("IsA", "a b", "O'Neill"):
            uri = f"//evil/{number}" if number % 4 == 1 else f"/a/[/r/{type_}/,{start}/,{stop}/]"
            db.execute(RELATION, (uri, type_, start, stop, weight, lists))


def file(media: Path, number: int) -> str:
    """One of them is a link to itself."""
    if number == 0:
        return "circle"
    (media / f"hostile{number}").write_bytes(b"x")
    return f"hostile{number}"


def pages() -> list[str]:
    asked = [quote(end, safe="") for end in (*ENDS, DOG)]
    return [
        *(DOG, "/r/IsA", "/r/a%20b", "/r/O'Neill", "/media", "/stats", f"/search?q={asked[0]}"),
        *(f"/graph?concept={each}&nodes=100" for each in asked),
        *(f"/path?from=dog&to={each}" for each in asked),
        *(f"/more?concept={each}&type=IsA&way=out" for each in asked),
        *(f"/queries?concept={each}" for each in asked),
        *(quote(end) for end in ENDS if end.startswith("/c/en/")),
        *(quote(f"/a/[/r/IsA/,{DOG}/,{end}/]") for end in ENDS),
    ]


@pytest.mark.parametrize("address", [*pages(), *(f"/api{each}" for each in pages())])
def test_every_page_of_it_answers(hostile: Served, address: str) -> None:
    answer = hostile.get(address)
    assert answer.status in (200, 404), answer.status
    assert "<script>\n" not in answer.text
    assert not re.search(r"""(href|src|hx-get|data-owner)=["'](//|/\\)""", answer.text)


@pytest.mark.parametrize("number", range(len(ENDS)))
def test_every_file_of_it_answers(hostile: Served, number: int) -> None:
    for way in ("file", "thumb"):
        answer = hostile.get(f"/{way}/{f'hostile{number}' if number else 'circle'}")
        assert answer.status == (200 if number else 404)
        assert "x-evil" not in answer.headers


def test_a_file_that_cannot_be_read_is_none(
    hostile: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its length is sent, and then nothing. Root may read everything, so that is pretended."""
    assert hostile.get("/file/hostile1").status == 200
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert hostile.get("/file/hostile1").status == 404


def test_a_picture_leads_to_no_other_host(hostile: Served, browser: Eyes) -> None:
    """Not by two clicks at one of its concepts either."""
    with browser.looking(f"{hostile.address}/?token={hostile.token}") as look:
        look.page.goto(f"{hostile.address}/graph?concept={quote(ELSEWHERE)}")
        look.page.locator("#picture[data-nodes]").wait_for()
        hand.click_twice(look.page, ELSEWHERE)
        look.page.wait_for_url(f"{hostile.address}/%2Fevil.example/x")
