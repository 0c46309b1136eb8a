"""The last lines of a log that are wanted, read from its end: those of an hour ago, too, where
others were written since.

Promise: so many bytes are looked at and no more, for so long and no longer; and it says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PIECE = 256_000
MOST_BYTES, LONGEST_S = 20_000_000, 0.1  # of processor time


class Found(NamedTuple):
    """`searched` are the bytes that were looked at, if it was not gone on to the beginning though
    there are fewer lines than were asked for."""

    lines: list[bytes]
    searched: int | None


def rotated(file: Path) -> list[Path]:
    """With those before it, the newest first."""
    return [file, *(file.with_name(f"{file.name}.{n}") for n in range(1, 6))]


def last_of(files: Iterable[Path], is_wanted: Callable[[bytes], bool], most: int) -> Found:
    """In the order in which they were written. `files` have the newest first."""
    begun, searched = time.thread_time(), 0
    found: list[bytes] = []
    for piece in _pieces(files):
        if searched >= MOST_BYTES or time.thread_time() - begun >= LONGEST_S:
            return Found(found, searched)
        searched += len(piece)
        found = [line for line in piece.split(b"\n") if line and is_wanted(line)] + found
        if len(found) >= most:
            return Found(found[-most:], None)
    return Found(found, None)


def _pieces(files: Iterable[Path]) -> Iterator[bytes]:
    """Of whole lines, the last ones first. One file may have got the name of the next meanwhile."""
    seen: set[int] = set()
    for file in files:
        with suppress(OSError), file.open("rb") as log:
            status = os.fstat(log.fileno())
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                end, rest = status.st_size, b""
                while end:
                    begin = max(0, end - PIECE)
                    log.seek(begin)
                    piece = log.read(end - begin) + rest
                    rest, _, whole = piece.partition(b"\n") if begin else (b"", b"", piece)
                    end = begin
                    yield whole
