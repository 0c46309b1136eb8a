"""A crawl by the ordinary command, in the process of the tests or in one of its own, and what it
left behind."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import chdir, closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

from main import main
from tests.support.command import ROOT, clean_environment

QUICK = {
    "SHEAF_PAGES_DELAY_S": "0",
    "SHEAF_PAGES_DELAY_FACTOR": "0",
    "SHEAF_PAGES_PER_HOST": "25",
    "SHEAF_PAGES_ATTEMPTS": "1",
}
"""Nobody has to be spared here."""
TABLE = "state-pages/pages.db"


def crawl(folder: Path, *flags: object, **settings: object) -> int:
    """Its exit code. `depth=2` is the setting SHEAF_PAGES_DEPTH."""
    folder.mkdir(exist_ok=True)
    with chdir(folder), patch.dict(os.environ, environment(settings), clear=True):
        return main(("pages", "--quiet", *map(str, flags)))


def environment(settings: Mapping[str, object]) -> dict[str, str]:
    own = {f"SHEAF_PAGES_{name.upper()}": str(value) for name, value in settings.items()}
    return clean_environment(**(QUICK | own))


def command(*flags: object) -> list[str]:
    return [sys.executable, str(ROOT / "main.py"), "pages", "--quiet", *map(str, flags)]


def rows(folder: Path, question: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(f"file:{folder / TABLE}?mode=ro", uri=True)) as db:
        return db.execute(question, values).fetchall()


def pages(folder: Path, host: str) -> dict[str, tuple[int, str | None]]:
    """State and remark by target, of those that were asked or refused."""
    found = rows(folder, "SELECT url, state, remark FROM pages")
    own = [row for row in found if row[0].startswith(host)]
    return {url.removeprefix(host): (state, remark) for url, state, remark in own}


def depths(folder: Path, host: str) -> dict[str, int]:
    found = rows(folder, "SELECT url, depth FROM pages WHERE state IN (1, 2)")
    return {url.removeprefix(host): depth for url, depth in found}
