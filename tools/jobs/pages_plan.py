"""What a crawl would ask, and where what it finds would go."""

from __future__ import annotations

from collections.abc import Iterator

from ..base.text import amount
from ..pages.open_table import place_of
from ..settings import Settings

MOST_SEEDS = 5


def plan(settings: Settings) -> Iterator[tuple[str, str]]:
    pages = settings.pages
    more = len(pages.seeds) - MOST_SEEDS
    rest = f" and {more:,} more" if more > 0 else ""
    yield "seeds", ", ".join(pages.seeds[:MOST_SEEDS]) + rest or "those of the crawl so far"
    yield "depth", f"at most {amount(pages.depth, 'link')} away from a seed"
    yield "scope", ", ".join([pages.scope, *pages.include, *(f"not {x}" for x in pages.exclude)])
    yield (
        "a host",
        f"{amount(pages.per_host, 'request')} at a time, {pages.delay_s:g} s between two",
    )
    yield "robots.txt", "is obeyed" if pages.robots == "obey" else "is ignored"
    yield "archive", str(pages.archive)
    yield "page table", place_of(pages.database, settings.state)
