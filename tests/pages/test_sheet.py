"""The page of a crawl: what it shows, and that what sites wrote is nothing but text in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import Browser, browser
from tests.support.command import run
from tests.support.crawl import crawl
from tests.support.worlds.faults import answer
from tests.support.worlds.hostile_site import HostileSite, page
from tools.pages import sheet as crawl_sheet

pytestmark = pytest.mark.timeout(120)

SHEET = "state-pages/sheets/pages.html"
ENEMY = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>"


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as tab:
        yield tab


def test_a_crawl_ends_with_a_page_to_look_at(whole_crawl: Path, tab: Browser) -> None:
    tab.open(whole_crawl / SHEET)
    text = tab.value("document.body.textContent")
    for words in ("Crawl of garden.example", "68 pages fetched", "HTTP 404", "depth 3", "plants"):
        assert words in text
    rose = "[...document.querySelectorAll('.page')].find(x => x.querySelector('.uri').textContent"
    own = tab.value(f"{rose} === 'garden.example/plants/rose').textContent")
    assert "garden.example/ → garden.example/plants/ → garden.example/plants/rose" in own
    assert "Leads to" in own and "Linked from" in own
    assert (
        len(tab.value(f"{rose} === 'garden.example/').querySelector('blockquote').textContent"))
        > 50
    )


@pytest.mark.parametrize("width", [1200, 400])
def test_it_fits_and_links_only_to_itself(whole_crawl: Path, tab: Browser, width: int) -> None:
    tab.open(whole_crawl / SHEET, width)
    tab.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value("violations") == []
    links = tab.value("[...document.querySelectorAll('[href],[src]')].map(x => x.outerHTML)")
    assert all('href="#p' in each or 'href="data:,"' in each for each in links)
    targets = "[...document.links].every(x => document.querySelector(x.getAttribute('href')))"
    assert tab.value(targets)


def test_a_link_unfolds_the_page_it_leads_to(whole_crawl: Path, tab: Browser) -> None:
    tab.open(whole_crawl / SHEET)
    opened = """new Promise(done => {
        document.addEventListener('toggle', each => done(each.target.open), true);
        document.querySelector('details a').click(); })"""
    assert tab.value(opened) is True


def test_what_a_site_wrote_is_text(tmp_path: Path, tab: Browser) -> None:
    with HostileSite() as site:
        site.put("/", page("/a%22%3E%3Cscript%3E", f"/{'long' * 400}", text=ENEMY, title="x"))
        title = (
            f"<title>&lt;/style&gt;{ENEMY.replace('<', '&lt;')}</title><body><p>{'word ' * 9000}"
        )
        site.put("/a%22%3E%3Cscript%3E", answer(200, title.encode(), "text/html"))
        assert crawl(tmp_path, "--seed", site.at("/"), depth=1) == 0
    tab.open(tmp_path / SHEET)
    assert tab.value("violations") == []
    assert tab.value("document.querySelectorAll('script,img,iframe,object,[onerror]').length") == 0
    assert tab.value("document.querySelector('style').sheet.cssRules.length") > 50
    assert "</style><script>alert(1)" in tab.value("document.body.textContent")
    assert (tmp_path / SHEET).stat().st_size < 60_000


def test_it_is_written_anew_and_bounded(
    crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (crawled / SHEET).unlink()
    done = run("main.py", "pages", "sheet", cwd=crawled)
    assert done.stdout.strip() == SHEET, done.stderr
    whole = (crawled / SHEET).read_text()
    monkeypatch.setattr(crawl_sheet, "MOST_PAGES", 5)
    monkeypatch.setattr(crawl_sheet, "MOST_SEARCHED", 7)
    from tools.pages.table_sqlite import SqlitePages

    table = SqlitePages(crawled / "state-pages/pages.db", writable=False)
    small = crawl_sheet.write_sheet(table, crawled / "archive", 10**6, tmp_path / "small")
    text = small.read_text()
    shown = '<details class="page'
    assert text.count(shown) == 5 < whole.count(shown) == 72
    assert "67 pages further away are left out" in text and "on the first 7 pages" in text
    table.close()


def test_what_is_not_here_any_more_is_told(crawled: Path) -> None:
    for file in (crawled / "archive").glob("*/*/*.warc.gz"):
        file.unlink()
    run("main.py", "pages", "sheet", cwd=crawled)
    text = (crawled / SHEET).read_text()
    assert "It cannot be read: " in text and not re.search("<blockquote", text)
