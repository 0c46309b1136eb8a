"""The page of settings shows those that the harvest has or had, whatever has changed since."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import run
from tests.web.scene import Served, served, wait_for
from tests.web.serving import serving
from tools.journal.effective import effective_in
from tools.journal.facts import EFFECTIVE


def shown(page: Served) -> dict[str, tuple[str, str]]:
    values = page.get("/api/settings").json["values"]
    return {each["name"]: (each["text"], each["origin"]) for each in values}


def harvest(folder: Path, *flags: str) -> None:
    done = run("main.py", "--sample", "--no-media", "-q", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_an_open_page_follows_a_harvest_that_is_started_again(tmp_path: Path) -> None:
    """Value and origin together; the file of settings is that of when it began."""
    file = tmp_path / "sheaf.toml"
    file.write_text("depth = 1\nattempts = 4\n", "utf-8")
    harvest(tmp_path, "--limit", "3")
    with serving(tmp_path) as page:
        found = shown(page)
        assert found["limit"] == ("3", "flag --limit")
        assert found["depth"] == ("1", "sheaf.toml, line 1")
        file.write_text("# nothing more\n\nattempts = 7\n", "utf-8")
        assert shown(page) == found
        harvest(tmp_path, "--limit", "5")
        wait_for(lambda: shown(page)["limit"] == ("5", "flag --limit"))
        found = shown(page)
        assert found["attempts"] == ("7", "sheaf.toml, line 3")
        assert found["depth"] == ("-", "default")


def test_what_the_sample_puts_in_the_place_of_others_is_told(harvested: Path) -> None:
    with served(harvested) as page:
        found = shown(page)
        text, origin = found["source"]
        assert text.startswith("http://127.0.0.1:") and origin == "flag --sample"
        assert found["seeds"][1] == "flag --sample"
        assert found["limit"] == ("12", "flag --limit")
        assert "effective" not in page.get("/api/settings").json["facts"]
        assert "effective" not in page.get("/api/history").json["harvest"]


@pytest.mark.parametrize("text", ["nonsense", "[[1]]", "{}", "null", "[" * 100_000])
def test_a_record_that_cannot_be_read_is_none(text: str) -> None:
    assert effective_in({EFFECTIVE: text}) == []


def test_of_a_harvest_of_an_older_version_what_it_was_told_is_read_anew(tmp_path: Path) -> None:
    harvest(tmp_path, "--limit", "3")
    with closing(sqlite3.connect(tmp_path / "state" / "pools.db")) as db, db:
        text = db.execute("DELETE FROM meta WHERE key = ? RETURNING value", (EFFECTIVE,)).fetchall()
        assert len(json.loads(text[0][0])) > 100
    with serving(tmp_path) as page:
        assert shown(page)["limit"] == ("3", "flag --limit")
        assert shown(page)["depth"] == ("-", "default")
