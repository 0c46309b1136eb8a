"""`python main.py cluster remove NAME`: a node's key is good for nothing from now on."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from . import flags

EXAMPLES = ("python main.py cluster remove lab-1    it is cut off, and its key is refused",)


class Options(flags.Options):
    names: list[str]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="the nodes")
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    from ..cluster.key_folder import remove_nodes
    from ..cluster.running_server import reload_server

    if not options.names:
        raise UsageError("say which node: python main.py cluster remove NAME")
    folder = flags.load(options).cluster.folder
    remove_nodes(folder, options.names)
    names = ", ".join(options.names)
    if reload_server(folder):
        print(f"{names}: cut off, and refused from now on")
    else:
        print(f"{names}: refused from now on (no server runs here now)")
    return 0
