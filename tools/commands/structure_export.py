"""`python main.py structure export NAME`: JSON that waits becomes rows; with --again all of it."""

from __future__ import annotations

from argparse import ArgumentParser

from ..base.values import words
from .structure import StructureOptions, run_stage, stage_arguments

EXAMPLES = (
    "python main.py structure export register           what waits",
    "python main.py structure export register --again   all, once more",
    "python main.py structure export register --again --archive person",
    "python main.py structure export register --again --to postgresql://me@host/db",
)
Options = StructureOptions


def arguments(parser: ArgumentParser) -> None:
    from ..jobs.structure_arguments import add_to

    stage_arguments(parser)
    add = parser.add_argument
    add("--again", action="store_true", help="export what is finished or failed once more")
    text = "rename these tables first (TABLE_date): new ones are made as the file says now"
    add("--archive", type=words, default=(), metavar="TABLES", help=text)
    add_to(parser)


def run(options: StructureOptions) -> int:
    return run_stage("export", options)
