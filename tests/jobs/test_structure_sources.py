"""Documents from a crawl's archive and from a task's kept answers, as those jobs left them."""

from __future__ import annotations

from contextlib import chdir, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.layers.test_visit import Notes, listing, note
from tests.structure.scene import Scene
from tests.support.crawl import crawl
from tests.support.layers import activity
from tests.support.site import Said, Site
from tools.errors import GiveUp, UsageError
from tools.jobs.structure_sources import others_of
from tools.layers.settings import LayersSettings
from tools.layers.task import LayerOptions
from tools.pages.settings import PagesSettings
from tools.settings import Settings
from tools.structure.sources.open import open_source
from tools.structure.sources.source import Source

pytestmark = pytest.mark.timeout(60)
MAX = 10**6


def opened(uri: str, folder: Path, max_bytes: int = MAX, **sections: Any) -> Source:
    settings = replace(Settings(), **sections)
    return open_source(uri, folder, max_bytes, lambda: others_of(settings))


def bodies(source: Source, position: str = "") -> dict[str, bytes]:
    return {item.source: source.read(item.place) for item, _ in source.items(position)}


class Crawl:
    """A site of three pages, crawled again and again."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site
        self.host = site.url.removeprefix("http://").rstrip("/")
        self.pages = PagesSettings(archive=folder / "archive")

    def run(self) -> None:
        assert crawl(self.folder, "--seed", self.site.url, refetch_after="0s") == 0

    def source(self, query: str = "", max_bytes: int = MAX) -> Source:
        uri = f"pages:state-pages{query}"
        return opened(uri, self.folder, max_bytes, pages=self.pages)


def site_of(**pages: str | Said) -> Site:
    links = "".join(f"<a href=/{name}>x</a>" for name in pages)
    return Site({"/": links, **{f"/{name}": page for name, page in pages.items()}})


def test_the_last_good_answer_of_each_page_is_a_document(tmp_path: Path) -> None:
    same = "<p>the same</p>"
    gone = Said("gone", status=404)
    with site_of(a="<p>one</p>", b=same, c=same, d=gone) as site:
        work = Crawl(tmp_path, site)
        work.run()
        with closing(work.source()) as source:
            found = bodies(source)
            assert {name.removeprefix(work.host): body for name, body in found.items()} == {
                "/": site.pages["/"].encode(),  # type: ignore[union-attr]
                "/a": b"<p>one</p>",
                "/b": same.encode(),
                "/c": same.encode(),  # kept as a revisit
            }
            assert {item.type for item, _ in source.items("")} == {"text/html"}
            scene = Scene(tmp_path / "state", source)
            scene.round()
            assert (scene.pools.tallied("found"), scene.pools.tallied("copies")) == (3, 1)
            site.pages["/a"] = "<p>two</p>"
            work.run()
            scene.round()
            assert (scene.pools.tallied("found"), scene.pools.tallied("copies")) == (4, 1)
            assert bodies(source)[f"{work.host}/a"] == b"<p>two</p>"
            site.pages["/a"] = "<p>one</p>"
            work.run()
            scene.finish()
            scene.round()
            assert scene.finish() == 1  # exported again
            scene.round()
            assert scene.finish() == 0


def test_a_crawl_may_have_its_archive_elsewhere(tmp_path: Path) -> None:
    with Site({"/": "<p>hello</p>"}) as site:
        work = Crawl(tmp_path, site)
        work.run()
    (tmp_path / "archive").rename(tmp_path / "elsewhere")
    with closing(work.source()) as source:
        [(item, _)] = source.items("")
        with pytest.raises(GiveUp, match="cannot be read"):
            source.read(item.place)
    with closing(work.source("?archive=elsewhere&database=sqlite:pages.db")) as source:
        assert len(bodies(source)) == 1
    source = work.source("?archive=elsewhere", max_bytes=5)
    with closing(source), pytest.raises(GiveUp, match="larger than"):
        source.read(item.place)


def test_kept_answers_of_a_task_are_documents(tmp_path: Path) -> None:
    with Site({"/": listing("/a", "/b"), "/a": note("A"), "/b": note("B")}) as site:
        task = Notes(site.url)
        task.layer_options = {"note": LayerOptions(keep=True)}
        task.again = ["note"]
        activity(task, tmp_path / "notes")
        source = opened("layers:notes", tmp_path, layers=LayersSettings(state=tmp_path))
        requests = [f"note GET {site.url}{name}" for name in "ab"]
        assert bodies(source) == dict(zip(requests, (b"<h1>A</h1>", b"<h1>B</h1>"), strict=True))
        assert list(bodies(source, requests[0])) == requests[1:]
        scene = Scene(tmp_path / "state", source)
        scene.round()
        site.pages["/b"] = note("B2")
        activity(task, tmp_path / "notes")
        for _ in range(2):
            scene.round()
        assert scene.pools.tallied("found") == 3
        assert bodies(source)[requests[1]] == b"<h1>B2</h1>"


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with chdir(tmp_path), pytest.raises(UsageError, match="there is no crawl in"):
        opened("pages:state-pages", tmp_path)
    with pytest.raises(UsageError, match="did you mean 'archive'"):
        opened("pages:state-pages?archiv=x", tmp_path)
    with pytest.raises(UsageError, match="write keep = true"):
        opened("layers:shop", tmp_path)
