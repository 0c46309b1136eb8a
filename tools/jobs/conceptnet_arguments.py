"""The flags of the job `conceptnet`, some of which other commands take too."""

from __future__ import annotations

import argparse
from typing import Any

from ..base.values import number, whole, words


def add_all(to: argparse.ArgumentParser) -> None:
    to.add_argument("--sample", action="store_true", help="the built-in sample, offline")
    add_choices(to)
    add_filter(to)


def add_choices(to: argparse.ArgumentParser) -> None:
    """What is harvested, and how much at once."""
    add = to.add_argument
    add(
        "--seed",
        action="append",
        metavar="CONCEPT",
        help="where to begin: dog or /c/en/dog, several with commas, or a file (repeatable)",
    )
    add("--source", help="a ConceptNet server, or an assertions file (.csv, .csv.gz, .csv.zst)")
    add("--all", action="store_true", help="everything in the file that passes the filter")
    add("--limit", type=whole, metavar="N", help="stop after N concepts")
    add("--depth", type=whole, metavar="N", help="at most N relations away from the seeds")
    add("--no-media", action="store_true", help="relations only")
    at_once = "at the same time"
    add("--fetch-workers", type=whole, metavar="N", help=f"concepts {at_once} (8; file: 200)")
    add("--extend-workers", type=whole, metavar="N", help=f"media tasks {at_once} (5)")


def add_filter(to: argparse.ArgumentParser) -> None:
    add = to.add_argument_group("what is kept").add_argument
    add_language(to, add)
    add("--relations", type=words, metavar="NAMES", help="these only, like IsA,PartOf, or all")
    add("--with", dest="with_relations", type=words, metavar="NAMES", help="these as well")
    add("--without", type=words, metavar="NAMES", help="all but these")
    add("--min-weight", type=number, metavar="W", help="relations of at least this weight")


def add_language(to: argparse.ArgumentParser, add: Any = None) -> None:
    add = add or to.add_argument
    add("--language", type=words, metavar="CODES", help="these languages, like en,de")
