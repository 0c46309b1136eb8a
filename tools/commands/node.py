"""`python main.py node`: this machine works for a harvest elsewhere."""

from __future__ import annotations

import argparse
import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..base import log
from ..errors import UsageError
from . import flags

if TYPE_CHECKING:
    from ..cluster.messages import Welcome
    from ..cluster.post import Post
    from ..cluster.staff import NodeStaff
    from ..settings import Settings

EXAMPLES = (
    "python main.py node --join lab-1.sheaf --media m",
    "python main.py node --join lab-1.sheaf --media /scratch/m --threads 16 --once",
)
STATE = "state-node"


class Options(flags.Options):
    join: Path | None
    state: str | None
    threads: int | None
    once: bool
    quiet: bool
    verbose: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--join", type=Path, metavar="FILE", help="what `cluster add` wrote for this node")
    text = "tasks of each stage at once (as fetch_workers, extend_workers or the stage say)"
    add("--threads", type=flags.whole, metavar="N", help=text)
    add("--once", action="store_true", help="end when the harvest is over")
    flags.add_places(parser, "config", "state", "media", home=STATE)
    flags.add_quiet(parser)
    add("-v", "--verbose", action="store_true", help="log what each worker does")


def run(options: Options) -> int:
    from ..cluster.join_file import read_join
    from ..journal.instance import only_instance

    if options.join is None:
        raise UsageError("give --join FILE: `python main.py cluster add NAME` writes it")
    key = read_join(options.join)
    settings = own_settings(options)
    settings.state.mkdir(parents=True, exist_ok=True)
    settings.media.mkdir(parents=True, exist_ok=True)
    with only_instance(settings.state):
        level = "debug" if options.verbose else settings.log.level
        log.set_up(settings.state / "log", level, settings.log.json, options.quiet)
        from .node_life import NodeLife

        life = NodeLife(key, settings, hire(key.name, settings), options.once)
        life.run(_leave_on_signal(), settings.stop_grace_s)
    return 0


def own_settings(options: Options) -> Settings:
    """What is this node's own: places, keys, proxies, the way to the receiving node."""
    from dataclasses import replace

    if options.state is None:
        options.state = STATE
    settings = flags.load(options)
    if (threads := options.threads) is not None:
        if threads < 1:
            raise UsageError("--threads must be 1 or more")
        cluster = replace(settings.cluster, threads=threads)
        settings = replace(settings, fetch_workers=threads, extend_workers=threads, cluster=cluster)
    return settings


def hire(name: str, settings: Settings) -> Any:
    """By the job that the coordinator names."""

    def hired(welcome: Welcome, post: Post, stop: Event) -> NodeStaff:
        from ..jobs.registry import JOBS, job_named

        if welcome.job not in JOBS:
            raise UsageError(f"this version knows no job {welcome.job!r}")
        staff: NodeStaff = job_named(welcome.job).staff(name, settings, welcome, post, stop)
        return staff

    return hired


def _leave_on_signal() -> Event:
    """The first asks to leave, the second ends it at once: what it has is written down."""
    leave = Event()

    def handler(_number: int, _frame: FrameType | None) -> None:
        if leave.is_set():
            os._exit(130)
        leave.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return leave
