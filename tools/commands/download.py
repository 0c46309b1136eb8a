"""`python main.py download`: ConceptNet's dump, or another file whose hash is known."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from threading import Event

from . import flags

EXAMPLES = (
    "python main.py download                            into this folder",
    "python main.py download --url https://example.org/part.csv.gz --sha256 HEX",
)


class Options(flags.Options):
    path: Path | None
    url: str | None
    sha256: str | None
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("path", nargs="?", type=Path, metavar="PATH", help="where it goes (default: its own name)")
    add("--url", help="another file than the dump, with its --sha256")
    add("--sha256", metavar="HEX", help="the hash that file must have")
    flags.add_quiet(parser)
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    from ..network import large_file as remote
    from ..network.client import Client
    from ..network.guard import host_of
    from ..network.proxy_list import proxies_of
    from ..reports.progress import byte_bar

    settings = flags.load(options)
    file = remote.chosen(options.url, options.sha256)
    path = options.path or remote.default_path(file)
    trusted = [host_of(options.url)] if options.url else []  # whoever names it wants it
    with byte_bar("proven", options.quiet) as prove:
        if remote.is_there(file, path, prove):
            print(f"{path} is already there and right")
            return 0
        proxies = proxies_of(settings.proxy, settings.http, Event())
        client = Client(settings.http, proxies, Event(), 1, trusted=trusted)
        with closing(client), byte_bar("fetched", options.quiet) as show:
            remote.fetch(file, path, client, settings.http, show, prove)
    if not options.quiet:
        print(f"{path} is complete and has the SHA-256 {file.sha256}")
    return 0
