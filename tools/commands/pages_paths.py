"""`python main.py pages paths URL`: how a page is reached from the seeds."""

from __future__ import annotations

import argparse

from . import flags
from .pages_table import add_crawl, page_of, settings_of, table_of

EXAMPLES = (
    "python main.py pages paths example.org/x          those that are kept",
    "python main.py pages paths example.org/x --all    every way, by all links",
)


class Options(flags.Options):
    url: str | None
    all: bool
    depth: int | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("url", nargs="?", metavar="URL", help="the page")
    add("--all", action="store_true", help="every way, by the links of all pages")
    add("--depth", type=flags.whole, metavar="N", help="of at most N links (that of the crawl)")
    add_crawl(parser)


def run(options: Options) -> int:
    from ..pages.paths import MOST_PATHS, all_paths

    settings = settings_of(options)
    with table_of(settings) as table:
        page = page_of(table, options.url, settings)
        paths, is_all = page.paths, True
        if options.all:
            paths, is_all = all_paths(table, page.url, settings.pages.depth)
    for path in paths:
        print(" -> ".join([*path, page.url]))
    if not is_all:
        print(f"there are more than {MOST_PATHS:,}: give a smaller --depth")
    return 0
