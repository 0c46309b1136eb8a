"""`python main.py check`: tries what weeks of work depend on, before they begin."""

from __future__ import annotations

import argparse

from ..jobs.conceptnet_arguments import add_choices
from ..jobs.registry import DEFAULT, job_named
from . import flags

EXAMPLES = (
    "python main.py check                 with the settings of sheaf.toml",
    "python main.py check --graph neo4j://neo4j@127.0.0.1:7687 --seed dog",
)


class Options(flags.Filtered):
    seed: list[str] | None
    all: bool
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add_choices(parser)
    flags.add_filter(parser)
    flags.add_places(parser, *flags.PLACES)
    flags.add_quiet(parser)


def run(options: Options) -> int:
    from .trials import run_trials  # it takes everything with it

    settings = job_named(DEFAULT).prepared(flags.load(options), options)
    return run_trials(settings, options.quiet)
