"""`python main.py pages sheet`: a page to look at, of the crawl as it is now."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import flags
from .pages_table import add_crawl, settings_of, table_of

EXAMPLES = ("python main.py pages sheet           as every crawl does when it ends",)


class Options(flags.Options):
    archive: Path | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--archive", type=Path, metavar="DIR", help="where the WARC files are")
    add_crawl(parser)


def run(options: Options) -> int:
    from ..jobs.pages_results import crawl_sheet

    settings = settings_of(options)
    with table_of(settings) as table:
        print(crawl_sheet(table, settings))
    return 0
