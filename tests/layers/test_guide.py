"""docs/layers.md: its task is loaded and run as it stands there, on a site as it describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.layers import activity, rows
from tests.support.site import Site
from tools.layers.catalogue import load_task
from tools.layers.task import Limits

GUIDE = Path(__file__).parents[2] / "docs" / "layers.md"
BASE = "https://books.example/"


@pytest.mark.timeout(60)
def test_the_task_of_the_guide_gives_its_table(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    book = "<h1>{0}</h1><span class=isbn>{1}</span><b class=price>EUR {2}</b>"
    pages = {
        "/": "<nav><a href='/shelf/travel'>Travel</a></nav>",
        "/shelf/travel": "<li class=book><a href='/b/1'>x</a></li><a class=next href='?page=2'>",
        "/shelf/travel?page=2": "<li class=book><a href='/b/2'>y</a></li>",
        "/b/1": book.format("The road", "978-1", "12.50"),
        "/b/2": book.format("The sea", "978-2", "7"),
    }
    with Site(pages) as site:
        assert BASE in text
        (tmp_path / "books.toml").write_text(text.replace(BASE, site.url), "utf-8")
        task = load_task(tmp_path, "books")
        task.limits = Limits(0.0, 4)
        activity(task, tmp_path / "state")
    stored = rows(task, tmp_path / "state", "book", "isbn", "title", "price", "shelf")
    assert [(isbn, title, float(price), shelf) for isbn, title, price, shelf in stored] == [
        ("978-1", "The road", 12.5, "Travel"),
        ("978-2", "The sea", 7.0, "Travel"),
    ]


@pytest.mark.timeout(60)
def test_the_class_of_the_guide_gives_its_table(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    pages = {"/": "<a href='/b/1'>x</a>", "/b/1": "<h1>The road</h1>"}
    with Site(pages) as site:
        assert BASE in text
        (tmp_path / "own.py").write_text(text.replace(BASE, site.url), "utf-8")
        task = load_task(tmp_path, "titles")
        activity(task, tmp_path / "state")
        stored = rows(task, tmp_path / "state", "title", "url", "title")
        assert stored == [(f"{site.url}b/1", "The road")]
