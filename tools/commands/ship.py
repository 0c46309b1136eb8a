"""`python main.py ship`: what the clock does every few hours, by hand."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import flags

EXAMPLES = (
    "python main.py ship --dry-run        does the node answer, and is there room?",
    "python main.py ship                  now; a harvest does it by itself",
    "python main.py ship --job pages      the full files of a crawl's archive",
)


class Options(flags.Options):
    job: str | None
    batch: str | None
    archive: Path | None
    list: bool
    dry_run: bool
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--batch", metavar="NAME", help="this one only, even if the node refused it")
    add("--list", action="store_true", help="what waits and what has arrived")
    flags.add_dry_run(parser, "try the node, send nothing")
    add("--now", action="store_true", help="at once, which is the default")
    flags.add_quiet(parser)
    flags.add_home(parser)
    flags.add_places(parser, "media")
    add("--archive", type=Path, metavar="DIR", help="where the WARC files are")


def run(options: Options) -> int:
    from .batches import ship  # it takes paramiko with it

    return ship(flags.load(options), options)
