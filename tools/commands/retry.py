"""`python main.py retry`: failed ones wait again; a harvest that runs does it itself."""

from __future__ import annotations

import argparse

from . import flags

EXAMPLES = (
    "python main.py retry                        all of them",
    'python main.py retry --reason "HTTP 404"    those that failed for it',
)


class Options(flags.Options):
    reason: str


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="a part of the reason, as history shows it"
    )
    flags.add_home(parser)


def run(options: Options) -> int:
    from ..assist.inbox import retry
    from ..jobs.registry import job_in
    from ..journal.reader import facts_in
    from .again import command_of

    settings = flags.load(options)
    file = settings.pools_file
    if not file.exists():
        raise flags.nothing_at(file, options)
    revived = retry(file, job_in(file).stages(settings), options.reason)
    if revived is None:
        print("the harvest that runs puts them back to work in a moment")
    else:
        print(f"{revived:,} go back to work; `{command_of(facts_in(file))}` goes on")
    return 0
