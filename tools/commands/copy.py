"""`python main.py copy`: one graph into another, and whether everything arrived."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing

from ..add import Counts
from ..conceptnet.graph import graph_counts, open_graph
from ..errors import Fatal, Unavailable, Unreachable, UsageError
from ..graphs.open import is_same
from ..reports.counts import counted
from . import flags
from .graph import existing_graph

EXAMPLES = (
    "python main.py copy --graph neo4j://neo4j@127.0.0.1:7687",
    "python main.py copy --from sqlite:state/graph.db --graph sqlite:other.db",
)


class Options(flags.Options):
    source_graph: str | None
    dry_run: bool
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source_graph",
        metavar="URL",
        help="the graph that is read (default: the embedded one); --graph is written",
    )
    flags.add_dry_run(parser, "say what is there, copy nothing")
    flags.add_quiet(parser)
    flags.add_places(parser, "config", "state", "graph")


def run(options: Options) -> int:
    from ..graphs.copy import copy, hand_on
    from ..reports.progress import bar

    settings = flags.load(options)
    url, password = options.source_graph or settings.embedded_graph, settings.neo4j.password
    if is_same(url, settings.graph_url):
        raise UsageError("copy needs another graph to write: --graph neo4j://user@host:7687")
    if options.dry_run:
        return preview_copy(url, settings.graph_url, password)
    with ExitStack() as stack:
        source = stack.enter_context(closing(existing_graph(url, password)))
        target = stack.enter_context(closing(open_graph(settings.graph_url, password)))
        try:
            with bar("copied", sum(source.counts()), options.quiet) as show:
                whole, there = copy(source, target, show)
            if there == whole:
                hand_on(source, target)
        except Unavailable as error:
            raise Unreachable(f"{error}; the same command goes on from here") from error
        return report_copied(whole, there, settings.graph_url, options.quiet)


def preview_copy(url: str, target: str, password: str) -> int:
    """What would be copied; a server is asked for its counts, nothing is made in it."""
    with closing(existing_graph(url, password)) as source:
        print(f"{url} holds {counted(source.counts())}: these would be copied")
    there = graph_counts(target, password)
    print(f"{target} " + (f"holds {counted(there)}" if there else "is not there yet"))
    print("nothing was copied (--dry-run)")
    return 0


def report_copied(whole: Counts, there: Counts, target: str, quiet: bool) -> int:
    if there != whole:
        missing = ", ".join(
            f"{number - found:,} of {number:,} {name}"
            for name, number, found in zip(Counts._fields, whole, there, strict=True)
            if number != found
        )
        raise Fatal(f"{target} lacks {missing}: start the same command again")
    if not quiet:
        print(f"{target} holds all of it: {counted(whole)}")
    return 0
