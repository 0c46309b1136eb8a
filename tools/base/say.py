"""What is printed for whoever may have stopped reading: `python main.py ... | head -3`."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from .program import as_typed_here


def say(text: str, to: TextIO | None = None) -> None:
    """A line on stdout, or elsewhere; one that nobody reads any more changes no exit code."""
    stream = to or sys.stdout
    try:
        print(as_typed_here(text), file=stream, flush=True)
    except BrokenPipeError:
        nobody_reads(stream)


def nobody_reads(stream: TextIO) -> None:
    """What is still to be flushed when we end must not change the exit code either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
