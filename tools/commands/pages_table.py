"""What the commands of a crawl share: its table, to be read, and a page as a user names it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..jobs.pages_description import PAGES
from . import flags

if TYPE_CHECKING:
    from ..pages.page import Page
    from ..pages.table import PageTable
    from ..settings import Settings


def add_crawl(parser: argparse.ArgumentParser) -> None:
    flags.add_places(parser, "config", "state", home=PAGES.usual_home)
    parser.add_argument("--database", metavar="URL", help="the page table (pages.db in the state)")


def settings_of(options: argparse.Namespace) -> Settings:
    from dataclasses import replace

    from ..jobs.pages_arguments import with_flags

    settings = flags.load(options)
    return replace(settings, pages=with_flags(settings.pages, options))


@contextmanager
def table_of(settings: Settings) -> Iterator[PageTable]:
    from ..pages.open_table import visit_table

    pages = settings.pages
    table = visit_table(pages.database, settings.state, pages.password_file)
    if table is None:
        raise UsageError(
            f"there is no crawl in {settings.state} yet: python main.py pages --seed URL starts one"
        )
    with closing(table):
        yield table


def page_of(table: PageTable, text: str | None, settings: Settings) -> Page:
    """The one that is meant, if the crawl knows it."""
    url = url_of(text, settings)
    page = table.page(url)
    if page is None:
        raise UsageError(f"the crawl knows no page {url}")
    return page


def url_of(text: str | None, settings: Settings) -> str:
    """The identity of the page that is meant: an address, or what `history.py` shows."""
    from ..documents.address import as_seed, identity
    from ..jobs.pages_asking import dropped_by

    if text is None:
        raise UsageError("which page is meant? Name it like https://example.org/page")
    address = as_seed(text)
    if address is None:
        raise UsageError(f"{text!r} is no web address: write it like https://example.org/page")
    return identity(address, dropped_by(settings.pages.drop_parameters))
