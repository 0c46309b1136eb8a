"""Empties the graph, after its user typed its name. What the pools know is set aside with it:

a harvest that believes everything finished would leave an empty graph empty.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ..add import Graph
from ..conceptnet.graph import open_graph, visit_graph
from ..graphs.open import name_of
from ..journal.instance import only_instance
from ..journal.snapshots import set_aside, set_pools_aside
from ..reports.counts import counted
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings

EXAMPLES = (
    "python clear.py --dry-run            say what is there, change nothing",
    "python clear.py --graph neo4j://neo4j@127.0.0.1:7687",
)


class Options(flags.Options):
    dry_run: bool
    yes: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_dry_run(parser, "say what is there, change nothing")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    flags.add_places(parser, *flags.PLACES)


def run(options: Options) -> int:
    try:
        return clear(flags.load(options), options)
    except KeyboardInterrupt:
        print("\nnothing more was changed", file=sys.stderr)
        raise


def clear(settings: Settings, options: Options) -> int:
    url, password = settings.graph_url, settings.neo4j.password
    seen = visit_graph(url, password)
    if seen is None:
        print(f"there is no graph at {url}: nothing to clear")
        return 0
    with closing(seen), only_instance(settings.state):
        print(f"{url} holds {counted(seen.counts())}")
        if options.dry_run:
            print("nothing was changed (--dry-run)")
            return 0
        with seen.members.nobody_at_work():  # raised before anybody has to answer
            name = name_of(url)
        if not options.yes and ask(f"Type {name} to empty this graph: ") != name:
            print("that is not its name; nothing was changed")
            return 2
        empty(seen, url, password)
        print("the graph is empty")
        retire_harvest(settings, options.yes)
    return 0


def empty(seen: Graph, url: str, password: str) -> None:
    from ..reports.progress import bar

    number = sum(seen.counts())
    with (
        seen.members.nobody_at_work(),
        closing(open_graph(url, password)) as graph,
        bar("deleted", number) as show,
    ):
        graph.clear(show)


def retire_harvest(settings: Settings, unasked: bool) -> None:
    """The pools, and the media that nobody knows any more; neither is deleted."""
    from ..media.ledger import Ledger

    pools = settings.pools_file
    if not pools.exists() or not (unasked or is_wanted(pools)):
        return
    print(f"the pools are set aside in {set_pools_aside(pools)}; the next harvest begins anew")
    if Ledger(settings.media) and (aside := set_aside(settings.media)):
        print(f"the media are set aside in {aside}")


def is_wanted(pools: Path) -> bool:
    answer = ask(f"Set {pools} aside too, so that the next harvest begins anew? [Y/n] ")
    return answer.lower() in ("", "y", "yes")


def ask(question: str) -> str:
    """An ended input answers nothing, so it agrees to nothing."""
    try:
        return input(question).strip()
    except EOFError:
        print()
        return "no"
