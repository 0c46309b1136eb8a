"""Manuals, crawled from a server and walked as files: the same pages, as deep, with the same words.

A small one is made here. SHEAF_SWEEP=all crawls each of those of others whole.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from random import Random

import pytest

from tests.support.crawl import crawl, depths, rows
from tests.support.file_walk import Folder
from tests.support.manuals import manual
from tests.support.worlds.faults import Request, answer
from tests.support.worlds.hostile_site import HostileSite

MANUALS = {  # where they begin, and how deep they are crawled
    "python3.*-doc": ("/", [1]),
    "postgresql-doc-*": ("/", [1, 2, 3, 1000]),
    "apache2-doc": ("/en/index.html", [1]),
    "cppreference-doc-en-html": ("/en/index.html", [1]),
}
SAMPLE = 50
SWEEP = os.environ.get("SHEAF_SWEEP")


class FolderSite(HostileSite):
    """The files of a folder."""

    folder: Folder

    def _answer(self, host: str, connection: socket.socket, request: Request) -> bytes:
        status, kind, content = self.folder.answer(request.target)
        if status == 301:
            return answer(301, Location=kind)
        return answer(status, content, kind)


def write_manual(folder: Path, pages: int = 80) -> None:
    """Chapters in folders of their own, with all the ways in which files lead to each other."""
    chance = Random(1)
    names = [f"part {n % 4}/{'deep/' * (n % 3)}p{n}.html" for n in range(pages)]
    for number, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * (len(Path(name).parts) - 1)
        near = names[number : number + 9]
        links = [up + each for each in chance.sample(near, min(3, len(near)))]
        links += [f"{up}part%20{number % 4}/", f"/part 1/p{number}.html?q=1#here", "#top", "./"]
        links += ["../../../index.html", "//site.example.org/", f"{up}missing{number % 5}.html"]
        anchors = "".join(f'<p>see <a href="{link}">it</a>s' for link in links)
        base = f'<base href="{up}">' if number % 10 == 9 else ""
        file.write_text(
            f"<!DOCTYPE html><meta charset=utf-8><title>{number}</title>{base}"
            f"<script>var unread = 1;</script><body><h1>Chapter {number}</h1>&amp; caf\u00e9"
            f"<!-- unread --><template><a href=unread.html>unread</a></template>{anchors}</body>"
        )
    refresh = f'<meta http-equiv="refresh" content="0; url={names[7]}">'
    (folder / "moved.html").write_text(refresh)
    first = "".join(f'<a href="{name}">{name}</a>' for name in [*names[:3], "moved.html"])
    (folder / "index.html").write_text(f"<!DOCTYPE html><body>{first}<a href='part 2'>x</a>")
    (folder / "part 2" / "index.html").write_text("<body>the second part <a href='p2.html'>2</a>")


def compare(folder: Path, start: str, at: Path, most: list[int]) -> None:
    site = FolderSite()
    site.folder = Folder(folder)
    with site:
        for depth in most:
            assert crawl(at, "--seed", site.at(start), depth=depth) == 0
            found, truth = depths(at, site.lane()), site.folder.depths(start, depth)
            assert found == truth, {name: found.get(name) for name in {*truth} - {*found}}
        assert set(site.targets().values()) == {1}
        compare_words(site, at)


def compare_words(site: FolderSite, at: Path) -> None:
    """Of some pages."""
    found = rows(at, "SELECT url, words FROM pages WHERE state = 1 AND words > 0 ORDER BY url")
    targets = {url.removeprefix(site.lane()): words for url, words in found}
    for target in Random(1).sample([*targets], min(SAMPLE, len(targets))):
        assert targets[target] == site.folder.page(target).words.total(), target


def test_a_small_manual(tmp_path: Path) -> None:
    write_manual(tmp_path / "manual")
    compare(tmp_path / "manual", "/", tmp_path / "crawl", [1, 2, 3, 1000])


@pytest.mark.parametrize("name", MANUALS)
def test_a_manual_of_others(name: str, tmp_path: Path) -> None:
    start, most = MANUALS[name]
    compare(manual(name), start, tmp_path, [1, 2, 3, 1000] if SWEEP == "all" else most)
