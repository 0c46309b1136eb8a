"""Empties the graph, after its user typed its name. What the pools know is set aside with it:

a harvest that believes everything finished would leave an empty graph empty.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ..add import Graph
from ..base.program import as_typed_here
from ..base.say import say
from ..errors import HarvestError
from ..graphs.open import name_of, open_graph, visit_graph
from ..journal.instance import only_instance
from ..journal.snapshots import set_aside, set_pools_aside
from ..media.ledger import Ledger
from ..reports.progress import bar
from ..settings import Settings, add_place_flags, load_places


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        return clear(load_places(arguments), arguments)
    except HarvestError as error:
        say(f"clear: {error}", sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nnothing more was changed", file=sys.stderr)
        return 130


def clear(settings: Settings, arguments: argparse.Namespace) -> int:
    url, password = settings.graph_url, settings.neo4j.password
    seen = visit_graph(url, password)
    if seen is None:
        print(f"there is no graph at {url}: nothing to clear")
        return 0
    with closing(seen), only_instance(settings.state):
        counts = seen.counts()
        text = ", ".join(f"{number:,} {name}" for name, number in counts._asdict().items())
        print(f"{url} holds {text}")
        if arguments.dry_run:
            print("nothing was changed (--dry-run)")
            return 0
        with seen.members.nobody_at_work():  # told before anybody has to answer
            name = name_of(url)
        if not arguments.yes and ask(f"Type {name} to empty this graph: ") != name:
            print("that is not its name; nothing was changed")
            return 2
        empty(seen, url, password)
        print("the graph is empty")
        retire_harvest(settings, arguments.yes)
    return 0


def empty(seen: Graph, url: str, password: str) -> None:
    number = sum(seen.counts())
    # An old Python must be able to read this file: no brackets around what `with` opens.
    with seen.members.nobody_at_work(), closing(open_graph(url, password)) as graph:  # noqa: SIM117
        with bar("deleted", number) as show:
            graph.clear(show)


def retire_harvest(settings: Settings, unasked: bool) -> None:
    """The pools, and the media that nobody knows any more; neither is deleted."""
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


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog=as_typed_here("python clear.py"), description=__doc__)
    result.add_argument("--dry-run", action="store_true", help="say what is there, change nothing")
    result.add_argument("--yes", action="store_true", help="ask nothing")
    add_place_flags(result)
    return result
