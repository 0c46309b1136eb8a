"""A state whose every word was chosen by an attacker: nothing of it is markup, on no page."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.web.eyes import Eyes, is_live
from tests.web.scene import Served, copied, served, spoil
from tools.journal.allowed import allowed_fact
from tools.journal.at_work import AtWork, at_work_fact
from tools.journal.instance import only_instance
from tools.journal.nodes import Node, nodes_fact
from tools.journal.processes import Process, processes_fact
from tools.journal.rests import Resting, rests_fact
from tools.web.pages import PAGES

BAD = "\"'><img src=x onerror=window.hacked=1><script>window.hacked=1</script>\u202e{{7*7}}\x1b[31m"
SHOWN = [page for page in PAGES if not page.jobs or "conceptnet" in page.jobs]
LOG = f"""2026-01-01 00:00:00,000 INFO    Sheaf 1 (x) begins: {BAD}; settings that differ: {BAD}
2026-01-01 00:00:01,000 ERROR   {BAD}
{{"time": "{BAD[2:]}", "level": "error", "message": "x"}}
{json.dumps({"time": BAD, "level": BAD, "message": BAD})}
{BAD}
"""


def poisoned(state: Path) -> None:
    pid, now = os.getpid(), time.time()
    node = Node(BAD, now, now, BAD, 8, 3, 1, 0, 0, 9, 9, 0, None, 1, BAD, BAD)
    facts = {
        "world": BAD,
        **nodes_fact(pid, [node]),
        **processes_fact(pid, [Process(BAD, now, 1, 1, 1, 1, now, BAD)]),
        **rests_fact(pid, [Resting(BAD, now + 999, BAD)]),
        **allowed_fact({f"h{BAD}": BAD, "": BAD}),
        **at_work_fact(pid, [AtWork(BAD, BAD, f"/c/en/{BAD}", 1, 1, now)]),
    }
    with closing(sqlite3.connect(state / "pools.db")) as db, db:
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
        db.execute("INSERT INTO host VALUES (?, 1, 1)", (f"h{BAD}",))
        counts = json.loads(db.execute("SELECT counts FROM tally").fetchone()[0])
        db.execute("UPDATE tally SET counts = ?", (json.dumps({**counts, BAD: 3}),))
    spoil(state, (BAD,))
    with (state / "log").open("a", encoding="utf-8") as log:
        log.write(LOG)


@pytest.fixture(scope="module")
def hostile(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = copied(harvested, tmp_path_factory.mktemp("hostile"))
    poisoned(folder / "state")
    refused = {"provider": BAD, "kind": BAD, "url": BAD, "reason": BAD, "license": BAD}
    refused["page"] = f"javascript:{BAD}"
    line = json.dumps({"owner": BAD, "refused": [refused]}) + "\n"
    with (folder / "m" / "SEARCHES.jsonl").open("a", encoding="utf-8") as books:
        books.write(line)
    file = {"path": BAD, "owner": BAD, "kind": BAD, "title": BAD, "provider": BAD}
    with (folder / "m" / "MEDIA.jsonl").open("a", encoding="utf-8") as books:
        books.write(json.dumps(file) + "\n")
    with only_instance(folder / "state"), served(folder) as page:
        yield page


class Markup(HTMLParser):
    """What a browser would make of it that could do something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        is_ours = (named.get("src") or "").startswith(("/static/", "/file/", "/thumb/"))
        if tag in ("script", "img", "iframe") and not is_ours:
            self.found.append(f"{tag} {named}")
        self.found += [name for name in named if name.startswith("on")]


@pytest.mark.parametrize("name", [page.name for page in SHOWN])
def test_nothing_of_it_is_markup(hostile: Served, name: str) -> None:
    address = "/" if name == "overview" else f"/{name}"
    answer = hostile.get(address)
    assert answer.status == 200
    assert Markup(answer.text).found == []
    assert "\u202e" not in answer.text and "\x1b" not in answer.text
    assert hostile.get(f"/api/{name}").status == 200


def test_it_is_there_to_be_seen(hostile: Served) -> None:
    """Else nothing was proved."""
    for address in ("/", "/work", "/failed", "/refused", "/log", "/settings", "/runs"):
        assert "&lt;script&gt;window" in hostile.get(address).text, address
    assert hostile.get("/metrics").status == 200


def test_in_a_browser_nothing_of_it_runs(hostile: Served, browser: Eyes) -> None:
    with browser.looking(hostile.full) as look:
        for address in ("/", "/work", "/refused", "/log?level=debug"):
            look.page.goto(hostile.address + address)
            is_live(look.page)
            assert look.page.evaluate("window.hacked") is None
        assert look.complaints() == []
