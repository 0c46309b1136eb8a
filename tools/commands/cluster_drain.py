"""`python main.py cluster drain NAME`: a node takes no more tasks, and leaves when it is done."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from . import flags

EXAMPLES = ("python main.py cluster drain lab-1    it ends what it has, and then itself",)


class Options(flags.Options):
    name: str | None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the node")
    flags.add_home(parser)


def run(options: Options) -> int:
    from ..assist.inbox import request_of_nodes
    from ..journal.holder import running

    if not options.name:
        raise UsageError("say which node: python main.py cluster drain NAME")
    settings = flags.load(options)
    if running(settings.state) is None:
        raise UsageError(f"no harvest runs in {settings.state}: its nodes wait, and may be stopped")
    request_of_nodes(settings.state, "drain", options.name)
    print(f"{options.name} takes no more tasks, and ends when it has done what it has")
    return 0
