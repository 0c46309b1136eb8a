"""`python main.py pages export DIR`: a crawl as files for the tool you go on with."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import UsageError
from . import flags
from .pages_table import add_crawl, settings_of, table_of

FORMATS = ("files", "warc", "wacz", "csv", "jsonl", "parquet")
EXAMPLES = (
    "python main.py pages export site                    each page as a file",
    "python main.py pages export replay --format wacz    for a viewer of archives",
    "python main.py pages export t --format parquet      what is known of pages",
)
VALUES = {"--format": FORMATS}


class Options(flags.Options):
    folder: Path | None
    format: str
    archive: Path | None
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", nargs="?", type=Path, metavar="DIR", help="where it goes; it must not exist yet")
    named = f"{', '.join(FORMATS)} (default: the first)"
    add("--format", default=FORMATS[0], metavar="NAME", help=named)
    add("--archive", type=Path, metavar="DIR", help="where the WARC files are")
    flags.add_quiet(parser)
    add_crawl(parser)


def run(options: Options) -> int:
    from ..pages.export import Crawled, export, format_named
    from ..reports.progress import bar

    if options.folder is None:
        raise UsageError("pages export needs a folder: python main.py pages export DIR")
    format_named(options.format)
    settings = settings_of(options)
    with table_of(settings) as table:
        number = sum(table.counts().states.values())
        with bar("exported", number, options.quiet) as show:
            crawled = Crawled(table, settings.pages.archive, settings.pages.max_bytes, show)
            export(crawled, options.folder, options.format)
    if not options.quiet:
        print(f"{options.folder} is complete; its README.txt tells what is in it")
    return 0
