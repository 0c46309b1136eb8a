"""The index of an archive: a line for each answer, sorted, so that other tools find any of them.

Promise: the lines are those that an indexer reading the files would write, and a list of any length
is sorted in bounded memory.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from ..base.files import write_whole
from .reader import Kept
from .record import RESPONSE, REVISIT, Place, target
from .surt import surt

FILE = "index.cdxj"
INDEXED = frozenset({RESPONSE, REVISIT})
AT_ONCE = 200_000  # lines sorted in memory: some 60 MB


class Capture(NamedTuple):
    """An answer in the archive, as the table has it."""

    address: str
    time: datetime
    status: int | None
    mime: str | None  # "warc/revisit" for a revisit
    digest: str | None
    place: Place

    @classmethod
    def of(cls, kept: Kept, file: str | None = None) -> Capture:
        """What a record says about itself."""
        place = kept.place if file is None else kept.place._replace(file=file)
        return cls(kept.address, kept.time, kept.status, kept.mime, kept.digest, place)


def line(capture: Capture) -> str:
    address = target(capture.address)
    values = {
        "url": address,
        "mime": capture.mime,
        "status": None if capture.status is None else str(capture.status),
        "digest": capture.digest,
        "length": str(capture.place.length),
        "offset": str(capture.place.offset),
        "filename": capture.place.file,
    }
    told = json.dumps({name: value for name, value in values.items() if value is not None})
    return f"{surt(address)} {timestamp(capture.time)} {told}\n"


def timestamp(time: datetime) -> str:
    """
    >>> timestamp(datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC))
    '20260504030201'
    """
    return time.astimezone(UTC).strftime("%Y%m%d%H%M%S")


def write_index(path: Path, captures: Iterable[Capture]) -> None:
    """It can be made again at any time."""
    with ExitStack() as stack:
        write_whole(path, sorted_lines(captures, stack, path.parent), durable=False)


def sorted_lines(
    captures: Iterable[Capture], stack: ExitStack, folder: Path, most: int = AT_ONCE
) -> Iterator[bytes]:
    """Each line once. What does not fit into memory waits in that folder until the stack is
    closed."""
    lines = (line(capture).encode() for capture in captures)
    runs: list[Iterable[bytes]] = []
    while run := sorted(islice(lines, most)):
        runs.append(run if len(run) < most else _in_a_file(run, stack, folder))
    return (each for each, _ in groupby(heapq.merge(*runs)))


def _in_a_file(run: Iterable[bytes], stack: ExitStack, folder: Path) -> IO[bytes]:
    file: IO[bytes] = stack.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115
    file.writelines(run)
    file.seek(0)
    return file
