"""Asked again: what has changed is kept anew, what has not refers to what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.command import run
from tools.archive.reader import Kept, records
from tools.network import server
from tools.network.reply import Reply, html_error


class Page(server.Handler):
    """A page in a version; whoever has it is told so."""

    version = 1

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        tag = f'"{self.version}"'
        if path != "/":
            return html_error(404, "none")
        if self.headers.get("If-None-Match") == tag:
            return Reply(304, b"", "text/html", {"ETag": tag})
        text = f"<title>Version {self.version}</title><p>{'word ' * self.version}</p>"
        return Reply(200, text.encode(), "text/html", {"ETag": tag})


@pytest.fixture
def site() -> Iterator[str]:
    Page.version = 1
    with server.Serving(server.Server(("127.0.0.1", 0), Page), "page") as serving:
        yield serving.url


def crawl(folder: Path, site: str) -> None:
    flags = ("--seed", site, "--delay", 0, "--refetch-after", "0s", "-q")
    done = run("main.py", "pages", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr


def answers(folder: Path) -> list[Kept]:
    (file,) = folder.glob("archive/*/*/*.warc.gz")
    found = [kept for kept in records(file) if kept.kind in ("response", "revisit")]
    return [kept for kept in found if kept.address.endswith("/")]


def test_a_304_refers_to_the_last_version(tmp_path: Path, site: str) -> None:
    crawl(tmp_path, site)
    Page.version = 2
    crawl(tmp_path, site)
    crawl(tmp_path, site)
    first, second, third = answers(tmp_path)
    assert [each.status for each in (first, second, third)] == [200, 200, 304]
    assert third.kind == "revisit" and third.digest == second.digest != first.digest
    assert third.refers_to is not None
    assert third.refers_to[1][:23] == second.time.isoformat()[:23]
    words = run("main.py", "pages", "words", "--csv", cwd=tmp_path).stdout.splitlines()
    assert "word,2,1" in words
    shown = run("main.py", "pages", "show", site, "--body", cwd=tmp_path).stdout
    assert "Version 2" in shown
    assert run("main.py", "pages", "check", cwd=tmp_path).returncode == 0
