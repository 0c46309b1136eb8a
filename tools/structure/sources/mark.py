"""How far a file is read that others may add to, or replace.

Promise: a file that only grew is read on; one that was replaced or shortened is read from its
beginning. Limit: a file that grew and was changed in its middle besides is taken for one that grew.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from ...base.text import plain
from ...errors import GiveUp, UsageError

PROOF = 4096  # bytes at both ends of what was there


class Mark(NamedTuple):
    """What a file was when it was opened."""

    size: int
    changed: int
    proof: str


class Position(NamedTuple):
    offset: int = 0
    row: int = 0
    mark: Mark | None = None

    def as_text(self) -> str:
        return orjson.dumps((self.offset, self.row, tuple(self.mark or ()))).decode()


def position_of(text: str) -> Position:
    if not text:
        return Position()
    offset, row, mark = orjson.loads(text)
    return Position(offset, row, Mark(*mark) if mark else None)


def mark_of(file: IO[bytes], size: int | None = None) -> Mark:
    """Of as much of it as there was at that size."""
    facts = os.fstat(file.fileno())
    size = facts.st_size if size is None else size
    file.seek(0)
    head = file.read(min(PROOF, size))
    file.seek(max(0, size - PROOF))
    proof = hashlib.sha256(head + file.read(min(PROOF, size)))
    return Mark(size, facts.st_mtime_ns, proof.hexdigest()[:32])


def resume(file: IO[bytes], position: str) -> Position:
    """Where to go on, with the mark of the file as it is now."""
    at, now = position_of(position), mark_of(file)
    if at.mark is None or now == at.mark:
        return at._replace(mark=now)
    has_grown = now.size > at.mark.size and mark_of(file, at.mark.size).proof == at.mark.proof
    return at._replace(mark=now) if has_grown else Position(mark=now)


def existing_file(uri: str, path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"{uri}: there is no file {plain(str(path))}")
    return path


def gone(path: Path, error: OSError) -> GiveUp:
    return GiveUp(f"{plain(str(path))} cannot be read: {error.strerror}")
