"""`python main.py mirror`: an assertions file, or the sample, served like api.conceptnet.io."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..errors import UsageError
from . import flags

if TYPE_CHECKING:
    from ..conceptnet.index.index import Index
    from ..conceptnet.mirror.mirror import Mirror
    from ..settings import Settings

EXAMPLES = (
    "python main.py mirror --source conceptnet-assertions-5.7.0.csv.gz --port 8084",
    "python main.py mirror --sample",
)
LIMITS = [(600, 60.0), (6000, 3600.0)]  # of the original: requests, seconds


class Options(flags.Options):
    sample: bool
    port: int
    host: str
    rate_limit: bool
    quiet: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--source", metavar="FILE", help="an assertions file (.csv, .csv.gz, .csv.zst)")
    add("--sample", action="store_true", help="the built-in sample world instead")
    add("--port", type=flags.whole, default=8084, metavar="N", help="%(default)s; 0: any free one")
    add("--host", default="127.0.0.1", help="where it listens (%(default)s)")
    add("--rate-limit", action="store_true", help="limit clients like the original")
    flags.add_quiet(parser)
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    settings = flags.load(options)
    if settings.source_file is None and not options.sample:
        raise UsageError("mirror needs --source FILE: an assertions file in the dump's format")
    data = index_to_serve(settings, options)
    server = _listening(data, options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print(f"serving {len(data):,} assertions at {server.url} (Ctrl-C ends it)", flush=True)
        # Limits are counted in one process.
        processes = 1 if options.rate_limit or options.sample else os.cpu_count() or 1
        server.serve_from_processes(processes)
    except KeyboardInterrupt:
        return 0
    finally:
        server.close()
    return 0


def _listening(data: Index, options: Options) -> Mirror:
    from ..conceptnet.mirror.mirror import Mirror

    try:
        limits = LIMITS if options.rate_limit else None
        server = Mirror(data, options.host, options.port, limits)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"the mirror cannot listen on {options.host} port {options.port} "
            f"({getattr(error, 'strerror', None) or error}): --port N takes another port, 0 any "
            f"that is free; --host another address"
        ) from error
    if not ip_address(urlsplit(server.url).hostname or "").is_loopback:
        print(
            f"everybody who can reach {options.host} over the network can ask this mirror; "
            f"without --host only this computer can",
            file=sys.stderr,
        )
    return server


def index_to_serve(settings: Settings, options: Options) -> Index:
    from ..conceptnet.file_source import opened
    from ..conceptnet.index.build import index_of  # it takes numpy with it
    from ..sample import world

    if options.sample or settings.source_file is None:
        return index_of(world.lines())
    return opened(settings.source_file, None, settings.dump, options.quiet)
