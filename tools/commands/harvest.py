"""`python main.py`: starts the harvest, or resumes it where it stopped."""

from __future__ import annotations

import argparse
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings

EXAMPLES = (
    "python main.py --sample                          the built-in sample, offline",
    "python main.py --seed dog,cat --limit 1000       from two concepts",
    "python main.py --source FILE.csv.gz --all --no-media",
    "python main.py --seed dog --dry-run              what would that do?",
)


class Options(flags.Filtered):
    sample: bool
    seed: list[str] | None
    all: bool
    no_media: bool
    fresh: bool
    resume: Path | None
    dry_run: bool
    log_json: bool
    quiet: bool
    verbose: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sample", action="store_true", help="the built-in sample, offline")
    add_choices(parser)
    add = parser.add_argument
    add("--fresh", action="store_true", help="set the old state and media aside and begin anew")
    add("--resume", type=Path, metavar="FILE", help="begin from a snapshot")
    flags.add_dry_run(parser, "say what would be asked; nothing is made or asked")
    flags.add_filter(parser)
    flags.add_places(parser, *flags.PLACES)
    add("--log-json", action="store_true", help="log lines as JSON")
    flags.add_quiet(parser)
    add("-v", "--verbose", action="store_true", help="log what each worker does")


def add_choices(parser: argparse.ArgumentParser) -> None:
    """What is harvested, and how much at once."""
    add = parser.add_argument
    add(
        "--seed",
        action="append",
        metavar="CONCEPT",
        help="where to begin: dog or /c/en/dog, several with commas, or a file (repeatable)",
    )
    add("--source", help="a ConceptNet server, or an assertions file (.csv, .csv.gz, .csv.zst)")
    add("--all", action="store_true", help="everything in the file that passes the filter")
    add("--limit", type=flags.whole, metavar="N", help="stop after N concepts")
    add("--depth", type=flags.whole, metavar="N", help="at most N relations away from the seeds")
    add("--no-media", action="store_true", help="relations only")
    at_once = "at the same time"
    add("--fetch-workers", type=flags.whole, metavar="N", help=f"concepts {at_once} (8; file: 200)")
    add("--extend-workers", type=flags.whole, metavar="N", help=f"media tasks {at_once} (5)")


def run(options: Options) -> int:
    settings = with_seeds(load_settings(options), options.all, options.quiet)
    if options.dry_run:
        from .plan import show_plan

        return show_plan(settings, options)
    from ..journal.instance import SIGNALS, only_instance

    for request in ("pause", "resume"):  # whoever asks before we listen must not end us
        signal.signal(SIGNALS[request], signal.SIG_IGN)
    from .session import harvest

    with only_instance(settings.state):
        return harvest(settings, options)


def load_settings(options: Options) -> Settings:
    seeds: tuple[str, ...] | list[str] | None = options.seed
    if options.sample and seeds is None:
        from ..sample.world import SEED

        seeds = (SEED,)
    settings = flags.load(options, seeds=seeds)
    is_walk = seeds or settings.limit is not None or settings.depth is not None
    if options.all and (is_walk or options.sample):
        raise UsageError("--all reads the whole file: it takes no seed, limit, depth or --sample")
    return settings


def with_seeds(settings: Settings, is_whole: bool, quiet: bool) -> Settings:
    """Seeds as concepts, told where that is not what was typed; a whole file needs none."""
    if is_whole:
        return settings
    from ..base.say import say
    from ..conceptnet.seeds import seeds_of, told

    seeds = seeds_of(settings.seeds, settings.filter.languages)
    for sentence in () if quiet else told(seeds):
        say(sentence)
    return replace(settings, seeds=tuple(seed.concept for seed in seeds))
