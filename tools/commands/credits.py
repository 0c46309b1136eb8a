"""`python main.py credits`: who made which file, of one concept and its relations, or of all."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from ..errors import UsageError
from . import flags
from .graph import existing_graph

EXAMPLES = (
    "python main.py credits dog                        a concept and its relations",
    "python main.py credits --format csv > credits.csv everything",
)
FORMATS = ("text", "csv")
VALUES = {"--format": FORMATS}


class Options(flags.Options):
    concept: str | None
    format: str


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("concept", nargs="?", metavar="CONCEPT", help="like dog or /c/en/dog (default: all)")
    add("--format", default="text", metavar="NAME", help="text or csv (default: text)")
    flags.add_language(parser)
    flags.add_places(parser, "config", "state", "graph")


def run(options: Options) -> int:
    from ..conceptnet.seeds import concept_named
    from ..media.credits import as_csv, as_text
    from ..media.graph_credits import credits

    if options.format not in FORMATS:
        raise UsageError(f"credits cannot print {options.format!r}: take text or csv")
    settings = flags.load(options)
    languages = settings.filter.languages
    wanted = None if options.concept is None else [concept_named(options.concept, languages)]
    with closing(existing_graph(settings.graph_url, settings.neo4j.password)) as graph:
        found = credits(graph, wanted)
        if options.format == "csv":
            as_csv(found, sys.stdout)
        else:
            for line in as_text(found):
                print(line)
    return 0
