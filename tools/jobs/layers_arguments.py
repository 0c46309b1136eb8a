"""The flags of the job `layers`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.values import whole, words


def add_task_flags(to: argparse.ArgumentParser) -> None:
    add = to.add_argument
    add("task", nargs="?", metavar="NAME", help="which task; without one the catalogue is shown")
    add("--sample", action="store_true", help="the built-in shop, offline")
    add("--once", action="store_true", help="one activity, whatever the task says of more")
    add("--only", type=words, metavar="LAYERS", help="a part of the task, in a state of its own")
    add("--limit", type=whole, metavar="N", help="at most N visits in this run")
    add("--folder", type=Path, metavar="DIR", help="where the tasks are (tasks)")
    add("--status", action="store_true", help="show how far it is: depths, rows, failures")
    add("--check", action="store_true", help="the same, and what seems to be wrong with its rows")
    add(
        "--try", dest="trial", metavar="URL", help="ask one page and show what it gives; no storing"
    )
    add("--layer", metavar="NAME", help="with --try: of which layer it is (the first)")
    to.set_defaults(requests=None)  # a snapshot of requests, if --resume names one
