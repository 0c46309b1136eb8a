"""What the table of a crawl holds, for whoever looks at it from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from ..engine.panel import Panel
from ..pages.open_table import visit_table
from ..pages.page import STATES
from ..pages.panels import panels_of
from ..settings import Settings


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
        return panels_of(table)
