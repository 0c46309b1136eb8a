"""`python main.py cluster init --address HOST`: the keys and the server's configuration, once."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from . import flags

EXAMPLES = (
    "python main.py cluster init --address example.org    as nodes reach it",
    "python main.py cluster init --address 10.0.0.7 --port 4333",
    "python main.py cluster init --address localhost      to try it, here only",
)


class Options(flags.Options):
    address: str | None
    port: int | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--address",
        metavar="HOST",
        help="the name or IP address by which nodes reach this computer",
    )
    add("--port", type=flags.whole, metavar="N", help="on which its server listens (4222)")
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    from ..cluster.key_folder import make_folder

    settings = flags.load(options).cluster
    if options.address is None:
        raise UsageError("say with --address how the nodes reach this computer: a name or an IP")
    port = settings.port if options.port is None else options.port
    if not 0 < port < 65_536:
        raise UsageError("--port must be 1 to 65535")
    folder = settings.folder
    make_folder(folder, options.address.lower(), port)
    print(
        f"{folder} holds the keys of a new cluster: keep a copy where only you can read it\n"
        f"its server listens on port {port}: scripts/nats start --folder {folder}\n"
        "for each node: python main.py cluster add NAME"
    )
    return 0
