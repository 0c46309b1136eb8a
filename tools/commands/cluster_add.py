"""`python main.py cluster add NAME`: a key for a node, and a server that knows it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import UsageError
from . import flags

EXAMPLES = (
    "python main.py cluster add lab-1 lab-2       writes cluster/lab-1.sheaf, ...",
    "python main.py cluster add lab-3 --to /mnt   writes /mnt/lab-3.sheaf",
)


class Options(flags.Options):
    names: list[str]
    to: Path | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="what the nodes are called: a-z, 0-9 and -")
    add("--to", type=Path, metavar="DIR", help="where their join files go (the cluster's folder)")
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    from ..cluster.key_folder import add_nodes
    from ..cluster.running_server import reload_server

    if not options.names:
        raise UsageError("say what the node is called: python main.py cluster add NAME")
    folder = flags.load(options).cluster.folder
    for file in add_nodes(folder, options.names, options.to):
        print(
            f"{file}: a node that has this file may join. It is a key: only its owner may read it"
        )
    if reload_server(folder):
        print("the server lets them in now")
    else:
        print(f"no server runs here yet: scripts/nats start --folder {folder}")
    return 0
