"""What a crawl has kept, for its user, when it has come to an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path

from ..base.text import size
from ..engine.job import Cell, Panel
from ..pages.page import STATES, Host
from ..pages.table import PageTable
from ..settings import Settings

MOST_HOSTS, MOST_WORDS, MOST_REASONS = 10, 20, 10
OF_HOSTS = ("pages", "failures", "size", "one takes")


def panels(table: PageTable) -> Sequence[Panel]:
    counts = table.counts()
    words = [(word.word, word.count) for word in table.words(MOST_WORDS)]
    return (
        Panel("Pages", "table", [(STATES[key], n) for key, n in sorted(counts.states.items())]),
        Panel("Pages by depth", "bars", _rows(dict(sorted(counts.depths.items())))),
        Panel("Pages by host", "table", list(_hosts(table)), OF_HOSTS),
        Panel("Pages by type", "table", _rows(counts.types)[:MOST_REASONS]),
        Panel("Words", "bars", words),
    )


def crawl_sheet(table: PageTable, settings: Settings) -> Path:
    """A page to look at, as the crawl is now."""
    from ..pages.sheet import write_sheet

    pages = settings.pages
    return write_sheet(table, pages.archive, pages.analyse_max_bytes, settings.sheets)


def _hosts(table: PageTable) -> Iterator[tuple[Cell, ...]]:
    """Those with the most pages; what failed without an answer took nobody's time."""
    for host in nlargest(MOST_HOSTS, table.hosts(), key=lambda each: (each.pages, each.failures)):
        yield host.name, host.pages, host.failures, size(host.bytes), _seconds(host)


def _seconds(host: Host) -> str:
    return f"{host.seconds / host.pages:.2f} s" if host.pages else "-"


def _rows(counts: Mapping[str, int] | Mapping[int, int]) -> list[tuple[str, int]]:
    return [(str(name), number) for name, number in counts.items()]
