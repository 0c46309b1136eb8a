"""What a crawl of weeks depends on, tried before it begins (see `trials`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from ..assist.notify import trials as notice_trials
from ..base.credentials import hidden
from ..pages.open_table import open_table, visit_table
from ..pages.table import PageTable
from ..settings import Settings
from ..tables.address import is_postgres, sqlite_path
from .trials import Trial, try_folder, try_node, try_notice, try_state


def crawl_trials(settings: Settings) -> Iterator[Trial]:
    """In the order in which a crawl needs them."""
    archive, reserve = settings.pages.archive, settings.reserve_bytes
    yield Trial("state folder", partial(try_state, settings))
    yield Trial("page table", partial(try_table, settings))
    yield Trial("archive", partial(try_folder, archive, reserve))
    for name, send in notice_trials(settings.notices):
        yield Trial(name, partial(try_notice, send))
    if settings.transport.host:
        yield Trial("receiving node", partial(try_node, settings))


def try_table(settings: Settings) -> str:
    """A server gets its tables, as by any start; a file that is not there is not made."""
    pages, state = settings.pages, settings.state
    if is_postgres(pages.database):
        table: PageTable | None = open_table(pages.database, state, pages.password_file)
    else:
        table = visit_table(pages.database, state, pages.password_file)
    if table is None:
        return try_folder(sqlite_path(pages.database, state).parent, 0)
    with closing(table):
        number = sum(table.counts().states.values())
    return f"{hidden(pages.database)} can be used; pages: {number:,}"
