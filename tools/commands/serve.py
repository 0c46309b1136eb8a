"""`python main.py serve`: a live page over a harvest, whether it runs or not."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..base import extras
from ..base.say import say
from ..errors import UsageError
from . import flags
from .harvest import PAGE_PORT as PORT

if TYPE_CHECKING:
    from ..settings import Settings
    from ..web.server import Listening, PageServer
    from ..web.site import Sources

EXAMPLES = (
    "python main.py serve                        of sheaf.toml, or of ./state",
    "python main.py serve --state other --open   another one, in your browser",
    "python main.py serve --port 9000            at another port",
    "python main.py serve --socket page.sock     for a proxy on this computer",
)


class Options(flags.Options):
    host: str
    port: int
    socket: Path | None
    public: str
    read_only: bool
    open: bool
    beside: int | None
    typed_there: str | None
    job: str | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="listen there (127.0.0.1)")
    add("--port", type=flags.whole, default=PORT, metavar="N", help=f"({PORT}; 0: any free one)")
    add("--socket", type=Path, metavar="FILE", help="listen at a socket file instead")
    add("--public", default="", metavar="URL", help="what people type, if a proxy stands before it")
    add("--read-only", action="store_true", help="nothing can be changed by the page")
    add("--open", action="store_true", help="show it in your browser")
    add("--beside", type=int, metavar="PID", help=argparse.SUPPRESS)
    add("--typed-there", metavar="WORDS", help=argparse.SUPPRESS)
    flags.add_home(parser)
    flags.add_places(parser, "graph", "media")


def run(options: Options) -> int:
    with extras.named():
        from ..web.server import NICE

    from .remembered import remembered_for

    settings, theirs = remembered_for(options, options.typed_there)
    if not settings.pools_file.exists() and options.beside is None:
        raise flags.nothing_at(settings.pools_file, options)
    os.nice(NICE)  # whoever harvests goes first
    page = server_of(options, settings, theirs)
    if not page.listening.is_local:
        say(
            f"others than this computer can reach {options.host}: what they send can be read on "
            "the way; a proxy with https is safer",
            sys.stderr,
        )
    signal.signal(signal.SIGTERM, _end)
    with suppress(KeyboardInterrupt):  # the usual way to end it
        page.serve()
    return 0


def _end(_number: int, _frame: FrameType | None) -> None:
    """The server hears it first and hands it on when it has ended: its token goes then."""
    raise SystemExit(0)


def server_of(options: Options, settings: Settings, theirs: argparse.Namespace) -> PageServer:
    from ..web.server import PageServer
    from ..web.site import Site

    def ready(address: str) -> None:
        say(f"the page is at {address}")
        if options.socket is not None:
            say(f"(by the socket {options.socket})")

    site = Site(sources_of(options, settings, theirs))
    where = listening_of(options)
    return PageServer(site, where, options.beside, ready, browser_for(options))


def browser_for(options: Options) -> Callable[[str], object] | None:
    """What shows an address, if somebody asked for that and can be shown any."""
    if not options.open:
        return None
    import webbrowser

    from .afterwards import has_windows

    if has_windows():
        return webbrowser.open
    say("no browser with a window is found here: open the printed address where you have one")
    return None


def listening_of(options: Options) -> Listening:
    from ..web.server import Listening

    if options.port > 65_535:
        raise UsageError("--port is at most 65535")
    if options.public and not (
        urlsplit(options.public).scheme in ("http", "https") and urlsplit(options.public).netloc
    ):
        raise UsageError("--public must be like https://sheaf.example.org")
    if urlsplit(options.public).path.strip("/"):
        raise UsageError("--public must be a host of its own: the page cannot live below a path")
    return Listening(options.host, options.port, options.socket, options.public)


def sources_of(options: Options, settings: Settings, theirs: argparse.Namespace) -> Sources:
    from ..jobs.registry import job_in
    from ..web.site import Sources
    from .again import command_of
    from .values import values_of

    return Sources(
        settings,
        settings.pools_file,
        job_in,
        values_of(settings, theirs),
        command_of,
        options.read_only,
    )
