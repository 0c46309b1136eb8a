"""`python main.py pages words`: how often each word stands in the pages of a crawl."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from . import flags
from .pages_table import add_crawl, settings_of, table_of

EXAMPLES = (
    "python main.py pages words --top 50             the fifty most frequent",
    "python main.py pages words --csv > words.csv    all of them, for a spreadsheet",
    "python main.py pages words --plot words.png     as a picture",
)
TOP, ALL = 20, 1_000_000_000


class Options(flags.Options):
    top: int | None
    csv: bool
    plot: Path | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--top", type=flags.whole, metavar="N", help=f"only the N most frequent ({TOP}; csv: all)")
    add("--csv", action="store_true", help="word, count, pages: for a spreadsheet")
    add("--plot", type=Path, metavar="FILE", help="draw them as FILE.svg or FILE.png")
    add_crawl(parser)


def run(options: Options) -> int:
    settings = settings_of(options)
    with table_of(settings) as table:
        words = table.words(options.top or (ALL if options.csv else TOP))
    if options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("word", "count", "pages"))
        writer.writerows((each.word, each.count, each.pages) for each in words)
        return 0
    if options.plot is not None:
        from ..reports.bar_chart import draw_bars

        draw_bars([(each.word, each.count) for each in words], options.plot, "Words of all pages")
        print(options.plot)
        return 0
    from ..reports.progress import two_columns as shown

    print(shown((each.word, each.count) for each in words))
    return 0
