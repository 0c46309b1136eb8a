"""`python main.py survey`: what the filter keeps of an assertions file, as tables, as JSON, and as
a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import UsageError
from . import flags

EXAMPLES = (
    "python main.py survey conceptnet-assertions-5.7.0.csv.gz",
    "python main.py survey FILE.csv.gz --language en,de --plot survey.svg",
)


class Options(flags.Filtered):
    path: Path | None
    json: bool
    plot: Path | None
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("path", nargs="?", type=Path, metavar="PATH", help="the file (default: `source`)")
    add("--source", metavar="FILE", help="the same")
    add("--json", action="store_true", help="as JSON")
    add("--plot", type=Path, metavar="FILE", help="a picture as well, FILE.svg or FILE.png")
    flags.add_quiet(parser)
    flags.add_filter(parser)
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    settings = flags.load(options)
    path = options.path.expanduser() if options.path else settings.source_file
    if path is None:
        raise UsageError("survey needs an assertions file: python main.py survey PATH")
    from ..conceptnet.rules import Filter
    from ..conceptnet.survey import report  # it takes numpy with it
    from ..conceptnet.survey.plot import draw
    from ..conceptnet.survey.survey import survey
    from ..reports.plot import format_of
    from ..reports.progress import byte_bar

    if options.plot is not None:
        format_of(options.plot)  # before minutes of reading
    chosen = settings.filter
    wanted = Filter.of(chosen.languages, chosen.min_weight, chosen.relations, chosen.senses)
    with byte_bar("read", options.quiet) as show:
        found = survey(path, wanted, settings.dump.max_malformed, show)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    rendered = report.as_json if options.json else report.as_text
    try:
        print(rendered(found, wanted), flush=True)
    finally:
        if options.plot is not None:
            draw(found, options.plot)
    return 0
