"""A crawl as one page to look at: its figures, and the pages nearest to the seeds.

Limit: of a large crawl so many pages are shown, and so many are searched for links to them; what is
said of all comes from the table's own counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from heapq import nlargest
from itertools import islice
from pathlib import Path

from ..base.text import amount, size
from ..documents.html import is_html, text_in
from ..errors import GiveUp
from ..sheets.crawl import LONGEST_TEXT, PANEL_ROWS, CrawlView, Panel, Shown, crawl_page
from ..sheets.document import write
from .archived import Archived, Shipped
from .page import FAILED, FETCHED, NEW, STATES, Host, Page
from .table import Counts, PageTable

FILE = "pages.html"
MOST_PAGES = 200
MOST_SEARCHED = 5000  # pages whose links are looked at
LINKING = 50  # of those that lead to a page, as many are remembered
DEEPEST = 1 << 30


def write_sheet(table: PageTable, archive: Path, most_bytes: int, folder: Path) -> Path:
    """Pages larger than `most_bytes` are not read for it."""
    return write(folder / FILE, crawl_page(view_of(table, Archived(table, archive, most_bytes))))


def view_of(table: PageTable, archived: Archived) -> CrawlView:
    counts, hosts = table.counts(), list(table.hosts())
    pages = table.first(MOST_PAGES)
    linking, looked_at = _linking(table, {page.url for page in pages})
    known = sum(counts.states.values()) - counts.states.get(NEW, 0)
    return CrawlView(
        _title(counts),
        list(_totals(counts, hosts)),
        list(_panels(table, counts, hosts)),
        [_shown(page, archived, linking.get(page.url, ())) for page in pages],
        known - len(pages),
        looked_at,
    )


def _title(counts: Counts) -> str:
    first, *others = counts.domains or ["nothing yet"]
    return f"Crawl of {first}" + (f" and {amount(len(others), 'other host')}" if others else "")


def _totals(counts: Counts, hosts: Collection[Host]) -> Iterator[str]:
    for state, name in STATES.items():
        if number := counts.states.get(state):
            yield f"{amount(number, 'page')} {name}"
    yield amount(len(counts.domains), "host")
    yield size(sum(host.bytes for host in hosts))


def _panels(table: PageTable, counts: Counts, hosts: Collection[Host]) -> Iterator[Panel]:
    yield _counted("Hosts", counts.domains)
    yield _counted(
        "Depths", {amount(depth, "link"): n for depth, n in sorted(counts.depths.items())}
    )
    yield _counted("Answers", {f"HTTP {status}": n for status, n in counts.statuses.items()})
    yield _counted("Failures", counts.reasons)
    yield _counted("Types", counts.types)
    yield Panel(
        "Slowest hosts", [(host.name, _pace(host), _seconds(host)) for host in _slow(hosts)]
    )
    largest = table.largest(PANEL_ROWS)
    yield Panel("Largest pages", [(url, number, size(number)) for url, number in largest])
    yield _counted("Words", {each.word: each.count for each in table.words(PANEL_ROWS)})


def _counted(title: str, counts: Mapping[str, int]) -> Panel:
    rows = [(name, number, f"{number:,}") for name, number in islice(counts.items(), PANEL_ROWS)]
    if (more := len(counts) - len(rows)) > 0:
        rest = sum(islice(counts.values(), PANEL_ROWS, None))
        rows.append((f"{more:,} others", rest, f"{rest:,}"))
    return Panel(title, rows)


def _slow(hosts: Iterable[Host]) -> list[Host]:
    return nlargest(PANEL_ROWS, (host for host in hosts if host.pages), key=_pace)


def _pace(host: Host) -> float:
    return host.seconds / host.pages


def _seconds(host: Host) -> str:
    return f"{_pace(host):.3f} s"


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
