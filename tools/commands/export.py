"""`python main.py export`: the graph as files for the tool you go on with."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from ..errors import UsageError
from ..exports.catalogue import DEFAULT, FORMATS, export, format_named
from . import flags
from .graph import existing_graph

EXAMPLES = (
    "python main.py export graph-files                    for Neo4j's import",
    "python main.py export --format parquet graph-parquet",
)


class Options(flags.Options):
    folder: Path | None
    format: str
    split_seed: int | None
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", nargs="?", type=Path, metavar="DIR", help="where it goes; it must not exist yet")
    add(
        "--format",
        default=DEFAULT,
        metavar="NAME",
        help=f"{', '.join(FORMATS)} (default: the first)",
    )
    add("--split-seed", type=flags.whole, metavar="N", help="for pykeen: another split (0)")
    flags.add_quiet(parser)
    flags.add_places(parser, "config", "state", "graph")


def run(options: Options) -> int:
    from ..reports.progress import bar

    folder, chosen = folder_of(options), format_named(options.format)
    wishes = {} if options.split_seed is None else {"seed": options.split_seed}
    if wishes and options.format != "pykeen":
        raise UsageError("--split-seed is for export --format pykeen, which alone splits")
    settings = flags.load(options)
    with (
        closing(existing_graph(settings.graph_url, settings.neo4j.password)) as graph,
        bar("exported", chosen.work(graph.counts()), options.quiet) as show,
    ):
        export(graph, folder, show, options.format, **wishes)
    if not options.quiet:
        print(f"{folder} is complete; {chosen.advice(folder)}")
    return 0


def folder_of(options: Options) -> Path:
    if options.folder is None:
        raise UsageError("export needs a folder: python main.py export DIR")
    return options.folder
