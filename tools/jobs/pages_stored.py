"""What the table of a crawl holds, for whoever looks at it from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from heapq import nlargest

from ..base.text import size
from ..engine.job import Cell, Panel
from ..pages.open_table import visit_table
from ..pages.page import STATES
from ..pages.table import PageTable
from ..settings import Settings

MOST_HOSTS, MOST_WORDS, MOST_REASONS = 50, 120, 20
OF_HOSTS = ("pages", "failures", "size", "one takes")


def stored(settings: Settings) -> Mapping[str, int] | None:
    pages = settings.pages
    table = visit_table(pages.database, settings.state, pages.password_file)
    if table is None:
        return None
    with closing(table):
        states, files = table.counts().states, table.files()
    known = {name: states.get(key, 0) for key, name in STATES.items()}
    shipped = sum(1 for file in files if file.shipped_at)
    waiting = sum(1 for file in files if file.closed_at and not file.shipped_at)
    if shipped or settings.transport.host:
        known |= {"files shipped": shipped, "files to ship": waiting}
    return known


def details_of_crawl(settings: Settings) -> Sequence[Panel]:
    """Hosts, depths, answers, reasons and words, as the table has them now."""
    pages = settings.pages
    table = visit_table(pages.database, settings.state, pages.password_file)
    if table is None:
        return ()
    with closing(table):
        counts, words = table.counts(), table.words(MOST_WORDS)
        depths = {f"depth {depth}": n for depth, n in sorted(counts.depths.items())}
        statuses = {f"HTTP {status}": n for status, n in counts.statuses.items()}
        return (
            Panel("Pages by depth", "bars", list(depths.items())),
            Panel("Pages by host", "table", host_rows(table, MOST_HOSTS), OF_HOSTS),
            Panel("Pages by answer", "bars", list(statuses.items())),
            Panel("Pages by type", "bars", list(counts.types.items())[:MOST_REASONS]),
            Panel("Why pages failed", "table", list(counts.reasons.items())[:MOST_REASONS]),
            Panel("Words", "cloud", [(each.word, each.count, each.pages) for each in words]),
        )


def host_rows(table: PageTable, most: int) -> list[tuple[Cell, ...]]:
    """Those with the most pages; what failed without an answer took nobody's time."""
    found = nlargest(most, table.hosts(), key=lambda each: (each.pages, each.failures))
    return [
        (
            each.name,
            each.pages,
            each.failures,
            size(each.bytes),
            f"{each.seconds / each.pages:.2f} s" if each.pages else "-",
        )
        for each in found
    ]
