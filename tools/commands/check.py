"""`python main.py check`: tries what weeks of work depend on, before they begin."""

from __future__ import annotations

import argparse

from ..jobs.conceptnet_arguments import add_choices
from ..jobs.registry import DEFAULT, job_named
from . import flags

PAGES = "pages"

EXAMPLES = (
    "python main.py check                 with the settings of sheaf.toml",
    "python main.py check --graph neo4j://neo4j@127.0.0.1:7687 --seed dog",
    "python main.py check --job pages     what a crawl depends on",
)


class Options(flags.Filtered):
    job: str | None
    seed: list[str] | None
    all: bool
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add_choices(parser)
    flags.add_filter(parser)
    flags.add_home(parser)
    flags.add_places(parser, *(each for each in flags.PLACES if each not in ("config", "state")))
    flags.add_quiet(parser)


def run(options: Options) -> int:
    options.job = options.job or DEFAULT
    if options.job == PAGES:
        from .pages_trials import crawl_trials
        from .trials import run_all

        return run_all(crawl_trials(flags.load(options)), "python main.py pages", options.quiet)
    from .trials import run_trials  # it takes everything with it

    settings = job_named(options.job).prepared(flags.load(options), options)
    return run_trials(settings, options.quiet)
