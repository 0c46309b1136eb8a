"""`python main.py cluster forget NAME`: a node never comes back; what only it had is got again."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from ..errors import AlreadyRunning, UsageError
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings

EXAMPLES = ("python main.py cluster forget lab-1    what it alone had is got again",)


class Options(flags.Options):
    name: str | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the node")
    flags.add_places(parser, "config", "state", "graph", "media")


def run(options: Options) -> int:
    from ..cluster.key_folder import remove_nodes
    from ..cluster.running_server import reload_server

    if not options.name:
        raise UsageError("say which node: python main.py cluster forget NAME")
    settings, name = flags.load(options), options.name
    remove_nodes(settings.cluster.folder, [name])
    reload_server(settings.cluster.folder)
    print(f"{name} is refused from now on; {_forgotten(settings, name)}")
    return 0


def _forgotten(settings: Settings, name: str) -> str:
    """By the harvest that runs, or here."""
    from ..assist.inbox import request_of_nodes
    from ..journal.instance import only_instance

    if not settings.pools_file.exists():
        return "there is no harvest that it has worked for"
    try:
        with only_instance(settings.state):
            number = _forget_here(settings, name)
    except AlreadyRunning:
        request_of_nodes(settings.state, "forget", name)
        return "the harvest that runs gets again what only it had"
    return f"{number:,} wait again for their files"


def _forget_here(settings: Settings, name: str) -> int:
    from ..conceptnet.graph import open_graph
    from ..engine.lost_node import forget_node
    from ..engine.pools import Pools
    from ..jobs.registry import job_in

    file = settings.pools_file
    stages = job_in(file).stages(settings)
    graph = open_graph(settings.graph_url, settings.neo4j.password)
    with closing(graph), closing(Pools(file, stages)) as pools:
        return forget_node(
            name, pools, stages, lambda owners: graph.attach({owner: () for owner in owners})
        )
