"""Files beside the state that somebody spoilt: each page says so, or is as without them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.web.scene import Served, copied, served, wait_for
from tools.web.data import statistics

WRONG: tuple[object, ...] = (None, "x", 5, [], {"a": 1}, [5], [{}], "\ud800")


@pytest.fixture(scope="module")
def spoilt(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(copied(harvested, tmp_path_factory.mktemp("spoilt"))) as page:
        yield page


@pytest.mark.parametrize(
    "line",
    ["5", '{"refused": 5, "owner": "x"}', '{"refused": [5, null], "owner": "x"}',
     '{"refused": [{"reason": "x"}]}', '{"refused": null, "owner": 1}', '{"refused": {"a": 1},',
     '{"refused": {"a": 1}, "owner": {}}', "[" * 9000],
)  # fmt: skip
def test_a_spoilt_line_of_the_books_harms_no_other(spoilt: Served, line: str) -> None:
    before = spoilt.get("/api/refused").json["number"]
    refused = {"provider": "p", "kind": "image", "url": "u", "reason": "too small"}
    refused["page"] = "https://example.org/wiki/dog"
    whole = json.dumps({"owner": "/c/en/dog", "refused": [refused]})
    with (spoilt.state.parent / "m" / "SEARCHES.jsonl").open("a", encoding="utf-8") as books:
        books.write(f"{line}\n{whole}\n")
    shown = spoilt.get("/refused")
    assert shown.status == 200 and 'href="https://example.org/wiki/dog"' in shown.text
    assert spoilt.get("/api/refused").json["number"] == before + 1


def test_judgements_that_cannot_be_read_are_said(spoilt: Served) -> None:
    judged = spoilt.state / "judged.jsonl"
    judged.mkdir()
    try:
        answer = spoilt.get("/media")
        assert answer.status == 503 and "judged.jsonl cannot be read" in answer.text
        assert spoilt.get("/api/media?judged=good").status == 503
    finally:
        judged.rmdir()
    assert spoilt.get("/media").status == 200


def test_figures_of_another_shape_are_none(spoilt: Served) -> None:
    whole = wait_for(lambda: counted(spoilt))
    file = spoilt.state / statistics.NAME
    content = file.read_bytes()
    assert statistics.kept(spoilt.state) is not None
    for name in whole:
        for value in WRONG:
            is_number = isinstance(value, int) and isinstance(whole[name], float)
            if not isinstance(value, type(whole[name])) and not is_number:
                is_none(spoilt.state, json.loads(content) | {name: value})
    for name in ("concept_coverage", "licences", "types"):
        for value in WRONG:
            said = json.loads(content)
            first = said[name]["any" if isinstance(said[name], dict) else 0]
            first["percent"] = value if value != 5 else []
            is_none(spoilt.state, said)
    file.write_bytes(content)
    assert spoilt.get("/stats").status == spoilt.get("/r/IsA").status == 200


def counted(page: Served) -> Any:
    """By nobody any more."""
    said = page.get("/api/stats").json
    return not said["is_counting"] and said["figures"]


def is_none(state: Path, said: dict[str, Any]) -> None:
    (state / statistics.NAME).write_text(json.dumps(said))
    assert statistics.kept(state) is None


DEEP = "[" * 5000


@pytest.mark.parametrize(
    ("fact", "value"),
    [("slots", DEEP), ("nodes", DEEP), ("processes", DEEP), ("paused_slots", DEEP),
     ("slots", '{"fetch": 1.5, "extend": null}'), ("slots", '{"fetch": 1000000000}'),
     ("limit", "9" * 400)],
)  # fmt: skip
def test_facts_that_nobody_wrote_are_passed_over(
    harvested: Path, tmp_path: Path, fact: str, value: str
) -> None:
    folder = copied(harvested, tmp_path)
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (fact, value))
    with served(folder) as page:
        for path in ("/", "/work", "/api/work", "/settings", "/api/settings", "/api/history"):
            assert page.get(path).status == 200, path


def test_a_moment_that_never_was_is_shown(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        (counts,) = db.execute("SELECT counts FROM tally").fetchone()
        row = (99, float("inf"), float("-inf"), counts, 2**63 - 1, -5)
        db.execute("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)", row)
    with served(folder) as page:
        for path in ("/", "/work", "/runs", "/api/status", "/api/curves", "/metrics"):
            assert page.get(path).status == 200, path
