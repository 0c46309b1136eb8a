"""`python main.py cluster`: what can be said about a cluster; each of its commands is a module."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from . import flags
from .verbs import OF_CLUSTER

EXAMPLES = (
    "python main.py cluster init --address example.org",
    "python main.py cluster add lab-1 lab-2",
)


class Options(flags.Options):
    pass


def arguments(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(options: Options) -> int:
    raise UsageError(f"cluster needs a second word: {', '.join(OF_CLUSTER)}")
