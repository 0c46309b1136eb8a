"""`python main.py retry`: failed ones wait again; a harvest that runs does it itself."""

from __future__ import annotations

import argparse
from contextlib import closing

from ..errors import AlreadyRunning
from . import flags

EXAMPLES = (
    "python main.py retry                        all of them",
    'python main.py retry --reason "HTTP 404"    those that failed for it',
)


class Options(flags.Options):
    reason: str


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="a part of the reason, as history shows it"
    )
    flags.add_home(parser)


def run(options: Options) -> int:
    from ..assist.inbox import request_retry
    from ..engine.pools import Pools
    from ..jobs.registry import job_in
    from ..journal.instance import only_instance
    from .again import command_of

    settings, reason = flags.load(options), options.reason
    file = settings.pools_file
    if not file.exists():
        raise flags.nothing_at(file, options)
    try:
        stages = job_in(file).stages(settings)
        with only_instance(settings.state), closing(Pools(file, stages)) as pools:
            command = command_of(pools.remembered())
            print(f"{pools.revive(reason):,} go back to work; `{command}` goes on")
    except AlreadyRunning:
        request_retry(settings.state, reason)
        print("the harvest that runs puts them back to work within a minute")
    return 0
