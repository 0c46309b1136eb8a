"""`python main.py structure parse NAME`: documents that wait become JSON; with --again old ones."""

from __future__ import annotations

from argparse import ArgumentParser

from ..errors import UsageError
from .structure import StructureOptions, run_stage, stage_arguments

EXAMPLES = (
    "python main.py structure parse register           what waits",
    "python main.py structure parse register --again   all, once more",
    "python main.py structure parse register --again --source '*.pdf'",
)
Options = StructureOptions


def arguments(parser: ArgumentParser) -> None:
    stage_arguments(parser)
    add = parser.add_argument
    add("--again", action="store_true", help="parse what is finished or failed once more")
    add("--source", dest="sources", metavar="GLOB", help="with --again: only of such sources")


def run(options: StructureOptions) -> int:
    if options.sources is not None and not options.again:
        raise UsageError("--source goes with --again")
    return run_stage("parse", options)
