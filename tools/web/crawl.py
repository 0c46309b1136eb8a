"""The pages of a crawl: its table, a page by its url, and its archived copy.

Promise: lists are read by their key, however long they are. Limit: only of the job `pages`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, NamedTuple

from ..errors import GiveUp, Unavailable
from ..pages.archived import Archived, Shipped
from ..pages.open_table import visit_table
from ..pages.page import STATES, Page
from ..pages.table import PageTable
from .inert import Copy, inert
from .site import Site

PAGE = 100
MOST_BYTES = 5_000_000  # of a copy that is shown
MOST_WORDS, MOST_LINKS = 60, 100


class PageSeen(NamedTuple):
    url: str
    title: str
    state: str
    depth: int
    status: int | None
    bytes: int | None
    words: int | None
    remark: str


@contextmanager
def table_of(site: Site) -> Iterator[PageTable]:
    settings = site.sources.settings
    pages = settings.pages
    table = visit_table(pages.database, site.state, pages.password_file)
    if table is None:
        raise Unavailable(f"there is no crawl in {site.state} yet")
    with closing(table):
        yield table


def page_list(site: Site, begins: str, after: str) -> dict[str, Any]:
    """Those whose url begins so, behind a url."""
    with table_of(site) as table:
        rows = [*islice(table.pages(begins, after), PAGE + 1)]
    shown = [seen(each) for each in rows[:PAGE]]
    return {"begins": begins, "found": shown, "next": shown[-1].url if len(rows) > PAGE else None}


def one_page(site: Site, url: str) -> dict[str, Any] | None:
    with table_of(site) as table:
        page = table.page(url)
        if page is None:
            return None
        words = sorted(table.words_of(url).items(), key=lambda each: (-each[1], each[0]))
        links = dict.fromkeys(each.url for each in table.links_of(url))
        captures = [each for each in table.captures(url) if each.kind != "request"]
    return {
        "page": seen(page),
        "path": list(page.paths[0]) if page.paths else [],
        "words": words[:MOST_WORDS],
        "links": list(links)[:MOST_LINKS],
        "links_in_all": len(links),
        "captures": captures,
    }


def copy_of(site: Site, url: str) -> Copy | str:
    """Or why there is none to show."""
    with table_of(site) as table:
        archived = Archived(table, site.sources.settings.pages.archive, MOST_BYTES)
        try:
            kept = archived.latest(url)
            if kept is None:
                return "The archive holds no answer of this page."
            body = kept.body(MOST_BYTES)
        except Shipped as away:
            return f"Its file {away.file} was shipped to the receiving node."
        except GiveUp as error:
            return f"It cannot be read: {error}"
    return inert(body, kept.header("Content-Type") or "application/octet-stream")


def seen(page: Page) -> PageSeen:
    return PageSeen(
        page.url,
        page.title or "",
        STATES.get(page.state, ""),
        page.depth,
        page.status,
        page.bytes,
        page.words,
        page.remark or (f"leads to {page.redirect}" if page.redirect else ""),
    )
