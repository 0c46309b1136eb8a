"""`python main.py pages links URL`: where a page leads, and what became of it."""

from __future__ import annotations

import argparse

from . import flags
from .pages_table import add_crawl, page_of, settings_of, table_of

EXAMPLES = ("python main.py pages links https://example.org/",)


class Options(flags.Options):
    url: str | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", metavar="URL", help="the page")
    add_crawl(parser)


def run(options: Options) -> int:
    from ..pages.page import STATES

    settings = settings_of(options)
    with table_of(settings) as table:
        links = table.links_of(page_of(table, options.url, settings).url)
        known = table.known([link.url for link in links])
    for link in links:
        there = known.get(link.url)
        state = STATES[there.state] if there else "not followed"
        print(f"{state:12} {link.kind:10} {link.address}")
    return 0
