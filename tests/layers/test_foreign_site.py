"""A site that nobody here wrote, asked completely by a task of twenty lines: PostgreSQL's manual,
against what another parser finds by walking its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

from tests.support.layers import activity, failures, rows
from tests.support.manuals import manual
from tools.layers.catalogue import load_task
from tools.layers.task import Limits

pytestmark = pytest.mark.timeout(200)

TASK = """
about = "the chapters of a manual"
base = "{base}"
start = ["/index.html"]
robots = false

[tables.chapter]
key = ["url"]
columns = {{ url = "VARCHAR(300)", title = "TEXT" }}

[layers.chapter]
next = [{{ to = "chapter", each = "a[href*='.html']:not([href*='://'])", url = "::attr(href)" }}]
[[layers.chapter.rows]]
table = "chapter"
[layers.chapter.rows.fields]
url = {{ request = "url" }}
title = "title::text"
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class Reader(HTMLParser):
    """Another parser than ours."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.title = ""
        self._in_title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self.title
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag != "title"

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def walked(folder: Path, base: str) -> dict[str, str]:
    """The title of each file that is reached, by its address."""
    found: dict[str, str] = {}
    waiting = [f"{base}index.html"]
    while waiting:
        url = waiting.pop()
        file = folder / unquote(urlsplit(url).path.lstrip("/"))
        if url in found or not file.is_file():
            continue
        page = Reader(file.read_text("utf-8", "replace"))
        found[url] = page.title
        links = [link for link in page.links if ".html" in link and "://" not in link]
        waiting += [urldefrag(urljoin(url, link)).url for link in links]
    return found


def test_a_manual_is_asked_completely(tmp_path: Path) -> None:
    folder = manual("postgresql-doc-*")
    with served(folder) as base:
        (tmp_path / "manual.toml").write_text(TASK.format(base=base))
        task = load_task(tmp_path, "manual")
        task.limits = Limits(0.0, 8)
        activity(task, tmp_path / "state")
        truth = walked(folder, base)
    assert len(truth) > 1000
    stored = dict(rows(task, tmp_path / "state", "chapter", "url", "title"))
    assert {url: (title or "").split() for url, title in stored.items()} == {
        url: title.split() for url, title in truth.items()
    }
    assert all(reason == "HTTP 404" for reason in failures(tmp_path / "state").values())
