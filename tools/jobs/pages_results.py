"""What a crawl has kept, for its user, when it has come to an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..engine.panel import Panel
from ..pages.page import STATES
from ..pages.panels import OF_HOSTS, rows_by_host
from ..pages.table import PageTable
from ..settings import Settings

MOST_HOSTS, MOST_WORDS, MOST_REASONS = 10, 20, 10


def panels(table: PageTable) -> Sequence[Panel]:
    counts = table.counts()
    words = [(word.word, word.count) for word in table.words(MOST_WORDS)]
    return (
        Panel("Pages", "table", [(STATES[key], n) for key, n in sorted(counts.states.items())]),
        Panel("Pages by depth", "bars", _rows(dict(sorted(counts.depths.items())))),
        Panel("Pages by host", "table", rows_by_host(table, MOST_HOSTS), OF_HOSTS),
        Panel("Pages by type", "table", _rows(counts.types)[:MOST_REASONS]),
        Panel("Words", "bars", words),
    )


def crawl_sheet(table: PageTable, settings: Settings) -> Path:
    """A page to look at, as the crawl is now."""
    from ..pages.sheet import write_sheet

    pages = settings.pages
    return write_sheet(table, pages.archive, pages.analyse_max_bytes, settings.sheets)


def _rows(counts: Mapping[str, int] | Mapping[int, int]) -> list[tuple[str, int]]:
    return [(str(name), number) for name, number in counts.items()]
