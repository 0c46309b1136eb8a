"""A crawl as one page to look at: its figures, and the pages nearest to the seeds.

Limit: of a large crawl so many pages are shown, and so many are searched for links to them; what is
said of all comes from the table's own counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..base.text import amount, size
from ..documents.html import is_html, text_in
from ..errors import GiveUp
from ..sheets.document import document, write
from .archived import Archived, Shipped
from .page import FAILED, FETCHED, NEW, STATES, Host, Page
from .panels import largest, panels_of, slowest
from .table import Counts, PageTable

FILE = "pages.html"
MOST_PAGES = 200
MOST_SEARCHED = 5000  # pages whose links are looked at
MOST_LINKS = 15  # of a page, in each direction
MOST_ROWS = 12
LONGEST_TEXT = 1500
LINKING = 50  # of those that lead to a page, as many are remembered
DEEPEST = 1 << 30


class Shown(NamedTuple):
    """A page of the crawl. `path` leads from a seed to it, `text` is what it says; if that is not
    here, `absent` says why."""

    url: str
    title: str | None
    facts: Sequence[str]
    has_failed: bool
    path: Sequence[str]
    text: str
    absent: str
    leads_to: Sequence[str]
    comes_from: Sequence[str]


def write_sheet(table: PageTable, archive: Path, most_bytes: int, folder: Path) -> Path:
    """Pages larger than `most_bytes` are not read for it."""
    values = _values(table, Archived(table, archive, most_bytes))
    return write(folder / FILE, document("crawl.html", _title(values["hosts"]), **values))


def _values(table: PageTable, archived: Archived) -> dict[str, Any]:
    """What its template is filled with: `left_out` pages have no place in it, `looked_at` pages
    were searched for links."""
    counts, hosts = table.counts(), list(table.hosts())
    pages = table.first(MOST_PAGES)
    linking, looked_at = _linking(table, {page.url for page in pages})
    known = sum(counts.states.values()) - counts.states.get(NEW, 0)
    *figures, words = panels_of(table)
    panels = (*figures, slowest(hosts, MOST_ROWS), largest(table, MOST_ROWS), words)
    return {
        "hosts": list(counts.domains),
        "totals": list(_totals(counts, hosts)),
        "panels": [each for each in panels if each.rows],
        "pages": [_shown(page, archived, linking.get(page.url, ())) for page in pages],
        "ids": {page.url: f"p{number}" for number, page in enumerate(pages)},
        "left_out": known - len(pages),
        "looked_at": looked_at,
        "most_links": MOST_LINKS,
        "longest": LONGEST_TEXT,
    }


def _title(hosts: Sequence[str]) -> str:
    first, *others = hosts or ["nothing yet"]
    return f"Crawl of {first}" + (f" and {amount(len(others), 'other host')}" if others else "")


def _totals(counts: Counts, hosts: Iterable[Host]) -> Iterator[str]:
    for state, name in STATES.items():
        if number := counts.states.get(state):
            yield f"{amount(number, 'page')} {name}"
    yield amount(len(counts.domains), "host")
    yield size(sum(host.bytes for host in hosts))


# --- one page ----------------------------------------------------------------------------------


def _linking(table: PageTable, wanted: Set[str]) -> tuple[Mapping[str, list[str]], int]:
    """Who leads to these, as far as it was looked for, and how far that was."""
    found: dict[str, list[str]] = {}
    number = 0
    for page in islice(table.linking(DEEPEST), MOST_SEARCHED):
        number += 1
        for url in wanted & {link.url for link in page.links} - {page.url}:
            if len(known := found.setdefault(url, [])) < LINKING:
                known.append(page.url)
    return found, number


def _shown(page: Page, archived: Archived, linking: Iterable[str]) -> Shown:
    text, absent = _text(page, archived)
    return Shown(
        page.url,
        page.title,
        list(_facts(page)),
        page.state == FAILED,
        page.paths[0] if page.paths else (),
        text,
        absent,
        list(dict.fromkeys(page.sub_urls or ())),
        list(linking),
    )


def _facts(page: Page) -> Iterator[str]:
    yield f"depth {page.depth}"
    if page.status:
        yield f"HTTP {page.status}"
    if page.bytes is not None:
        yield size(page.bytes)
    if page.words:
        yield amount(page.words, "word")
    if page.redirect:
        yield f"sent to {page.redirect}"
    if page.remark:
        yield page.remark


def _text(page: Page, archived: Archived) -> tuple[str, str]:
    """What it says, or why that is not here."""
    if page.state != FETCHED or page.redirect:
        return "", ""
    try:
        if (kept := archived.latest(page.url)) is None:
            return "", "It was not kept: the page asks for that."
        if kept.is_cut:
            return "", f"It is larger than {size(archived.most_bytes)}."
        content = kept.body(archived.most_bytes)
    except Shipped:
        return "", "It was shipped to the receiving node."
    except GiveUp as error:
        return "", f"It cannot be read: {error}"
    kind = page.content_type
    if not is_html(kind, content):
        return "", f"Its type is {kind or 'unknown'}."
    return text_in(content, kept.header("Content-Type"), LONGEST_TEXT), ""
