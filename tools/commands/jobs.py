"""`python main.py jobs`: the catalogue of jobs."""

from __future__ import annotations

import argparse

from .flags import Options as Options
from .verbs import JOBS

EXAMPLES = ("python main.py jobs",)


def arguments(_: argparse.ArgumentParser) -> None:
    """None."""


def run(_: Options) -> int:
    print("\n".join(f"{name:12} {job.does}" for name, job in JOBS.items()))
    return 0
