"""A crawl in figures, as its table has them now: for the live page, and for a page in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest

from ..base.text import size
from ..engine.panel import Cell, Panel
from .page import Host
from .table import PageTable

MOST_HOSTS, MOST_WORDS, MOST_REASONS = 50, 120, 20
OF_HOSTS = ("pages", "failures", "size", "one takes")


def panels_of(table: PageTable) -> Sequence[Panel]:
    """Hosts, depths, answers, reasons and words."""
    counts, words = table.counts(), table.words(MOST_WORDS)
    depths = {f"depth {depth}": n for depth, n in sorted(counts.depths.items())}
    statuses = {f"HTTP {status}": n for status, n in counts.statuses.items()}
    return (
        Panel("Pages by depth", "bars", list(depths.items())),
        Panel("Pages by host", "table", rows_by_host(table, MOST_HOSTS), OF_HOSTS),
        Panel("Pages by answer", "bars", list(statuses.items())),
        Panel("Pages by type", "bars", list(counts.types.items())[:MOST_REASONS]),
        Panel("Why pages failed", "table", list(counts.reasons.items())[:MOST_REASONS]),
        Panel("Words", "cloud", [(each.word, each.count, each.pages) for each in words]),
    )


def rows_by_host(table: PageTable, most: int) -> list[tuple[Cell, ...]]:
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


def slowest(hosts: Iterable[Host], most: int) -> Panel:
    paces = ((host.seconds / host.pages, host.name) for host in hosts if host.pages)
    rows = [(name, f"{pace:.3f} s") for pace, name in nlargest(most, paces)]
    return Panel("Slowest hosts", "table", rows)


def largest(table: PageTable, most: int) -> Panel:
    rows = [(url, size(number)) for url, number in table.largest(most)]
    return Panel("Largest pages", "table", rows)
