"""`python main.py stop`: asks the harvest that runs."""

from __future__ import annotations

import argparse

from . import flags

EXAMPLES = (
    "python main.py stop                  the harvest of sheaf.toml, or of ./state",
    "python main.py stop --state state-2  another one",
)


class Options(flags.Options):
    """Only where."""


def arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_home(parser)


def run(options: Options) -> int:
    from ..journal.instance import ask_running

    state = flags.load(options).state
    pid = ask_running(state, options.verb)
    print(f"asked the harvest in {state} (process {pid}) to {options.verb}")
    return 0
