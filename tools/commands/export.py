"""`python main.py export`: the graph as files for the tool you go on with."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from ..conceptnet.rules import ALL_RELATIONS
from ..errors import UsageError
from ..exports.catalogue import DEFAULT, FORMATS, export, format_named
from ..reports.counts import counted
from . import flags
from .graph import existing_graph

EXAMPLES = (
    "python main.py export graph-files                    for Neo4j's import",
    "python main.py export --format parquet graph-parquet",
)
VALUES = {"--format": tuple(FORMATS)}


class Options(flags.Options):
    folder: Path | None
    format: str
    split_seed: int | None
    without_bad: bool
    dry_run: bool
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
    add("--without-bad", action="store_true", help="leave out files that were judged bad")
    flags.add_dry_run(parser, "say what is there, write nothing")
    flags.add_quiet(parser)
    flags.add_places(parser, "config", "state", "graph")


def run(options: Options) -> int:
    from ..graphs.without import without
    from ..journal.snapshots import JUDGED
    from ..reports.progress import bar
    from ..web.data.judgements import bad

    folder, chosen = folder_of(options), format_named(options.format)
    if options.split_seed is not None and options.format != "pykeen":
        raise UsageError("--split-seed is for export --format pykeen, which alone splits")
    settings = flags.load(options)
    url, password = settings.graph_url, settings.neo4j.password
    if options.dry_run:
        return preview_export(url, password, folder, options.format)
    with (
        closing(existing_graph(url, password)) as graph,
        bar("exported", chosen.work(graph.counts()), options.quiet) as show,
    ):
        left_out = bad(settings.state) if options.without_bad else frozenset[str]()
        export(without(graph, left_out), folder, show, options.format, **needs_of(options))
    if not options.quiet:
        print(f"{folder} is complete; {chosen.advice(folder)}")
        if left_out:
            print(f"left out were the files judged bad: {len(left_out):,} hashes in {JUDGED}")
    return 0


def needs_of(options: Options) -> dict[str, Any]:
    """What a format must know besides the graph."""
    if options.format == "neo4j-csv":
        return {"types": ALL_RELATIONS}
    return {} if options.split_seed is None else {"seed": options.split_seed}


def preview_export(url: str, password: str, folder: Path, name: str) -> int:
    """What would be written, and whether it can be put there."""
    if folder.exists():
        raise UsageError(f"{folder} exists already: name a folder that is not there yet")
    with closing(existing_graph(url, password)) as graph:
        print(f"{url} holds {counted(graph.counts())}: these would be written as {name}")
    print(f"{folder} would be made; nothing was written (--dry-run)")
    return 0


def folder_of(options: Options) -> Path:
    if options.folder is None:
        raise UsageError("export needs a folder: python main.py export DIR")
    return options.folder
