"""`python main.py sheet`: a page of a concept with its media, or of the seeds and latest ones."""

from __future__ import annotations

import argparse
from contextlib import closing

from ..errors import UsageError
from . import flags

EXAMPLES = (
    "python main.py sheet dog             one concept",
    "python main.py sheet                 seeds, neighbours, latest ones, an index",
)


class Options(flags.Options):
    concept: str | None
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("concept", nargs="?", metavar="CONCEPT", help="like dog or /c/en/dog (default: the latest)")
    flags.add_language(parser)
    flags.add_quiet(parser)
    flags.add_places(parser, "config", "state", "graph", "media")


def run(options: Options) -> int:
    from ..conceptnet.graph import open_reader
    from ..conceptnet.seeds import concept_named
    from ..jobs.conceptnet_results import latest_sheets
    from ..sheets.write import sheet  # it takes Pillow and Jinja with it

    settings = flags.load(options)
    if options.concept is not None:
        concept = concept_named(options.concept, settings.filter.languages)
        with closing(open_reader(settings.graph_url, settings.neo4j.password)) as reader:
            print(sheet(reader, settings.media, concept, settings.sheets))
    elif page := latest_sheets(settings, options.quiet):
        print(page)
    else:
        raise UsageError(f"no concept has media in {settings.media} yet: name one")
    return 0
