"""The flags of the job `structure`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_structure_flags(to: argparse.ArgumentParser) -> None:
    add = to.add_argument
    text = "which structure; without one the catalogue is shown"
    add("name", nargs="?", metavar="NAME", help=text)
    add("--sample", action="store_true", help="the built-in seed bank, offline")
    add("--folder", type=Path, metavar="DIR", help="where the structures are (structures)")
    to.set_defaults(watch=False, only_stage=None, again=False, sources=None, to=None, archive=())


def add_watch(to: argparse.ArgumentParser) -> None:
    text = "stay, and look for new documents as the structure says (every, at)"
    to.add_argument("--watch", action="store_true", help=text)


def add_to(to: argparse.ArgumentParser) -> None:
    text = "another database than the export file's: sqlite:PATH, postgresql://..., mysql://..."
    to.add_argument("--to", metavar="URL", help=text)
