"""A volume of a batch: a piece of a tar stream, made from its files while it is read.

Promise: the same files give the same bytes whenever they are read, so a volume needs no room on
the disk, a half-sent one can be continued, and one that was sent can be compared. A file that is no
longer what it was when it was harvested is found while it is read.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
READ = 2**20
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Member(NamedTuple):
    path: str
    bytes: int
    sha256: str


class MemberLost(Exception):
    """The file is not what it was: the volume must be made without it."""

    def __init__(self, member: Member, reason: str) -> None:
        super().__init__(f"{member.path}: {reason}")
        self.member = member
        self.reason = reason


@dataclass(frozen=True)
class Volume:
    """Whole files only. Put one behind the other, the volumes of a batch are one tar archive."""

    name: str
    members: Sequence[Member]
    is_last: bool

    @cached_property
    def size(self) -> int:
        return sum(map(room, self.members)) + (len(END) if self.is_last else 0)

    def chunks(self, folder: Path, size: int) -> Iterator[bytes]:
        """All of it, in chunks of that size; the last one may be shorter."""
        held: list[memoryview] = []
        missing = size
        for piece in self._pieces(folder):
            view = memoryview(piece)  # what is cut from it is copied once, when it is joined
            while len(view) >= missing:
                yield b"".join([*held, view[:missing]])
                held, view, missing = [], view[missing:], size
            held.append(view)
            missing -= len(view)
        if missing < size:
            yield b"".join(held)

    def _pieces(self, folder: Path) -> Iterator[bytes]:
        for member in self.members:
            yield header(member)
            yield from _content(f"{folder}/{member.path}", member)
            yield bytes(-member.bytes % BLOCK)
        if self.is_last:
            yield END


def header(member: Member) -> bytes:
    """Nothing of this computer is in it."""
    name = member.path.encode("utf-8", "surrogateescape")
    if len(name) > tarfile.LENGTH_NAME or member.bytes > MOST_OCTAL:
        return _header(member)
    head = bytearray(PLAIN)
    head[: len(name)] = name
    head[SIZE] = b"%011o" % member.bytes
    head[SUM] = b"%06o\0" % (sum(head) + SPACES)  # its own place counts as blank
    return bytes(head)


def _header(member: Member) -> bytes:
    """By tarfile, which takes its time for it."""
    # No time, owner or mode of the file: it would give other bytes after a copy or a restore.
    info = tarfile.TarInfo(member.path)
    info.size, info.mode = member.bytes, 0o644
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


MOST_OCTAL = 8**11 - 1
SIZE, SUM = slice(124, 135), slice(148, 155)
"""Where the size of a file and the sum over its header stand there."""
PLAIN = bytearray(_header(Member("", 0, "")))
PLAIN[SUM] = bytes(7)
SPACES = 7 * ord(" ")


def room(member: Member) -> int:
    """What it takes in a volume."""
    is_long = len(member.path.encode("utf-8", "surrogateescape")) > tarfile.LENGTH_NAME
    head = len(header(member)) if is_long else BLOCK
    return head + member.bytes + -member.bytes % BLOCK


def cut(members: Sequence[Member], most: int) -> list[Volume]:
    """Volumes of at most so many bytes; a file that is larger has one to itself."""
    parts: list[list[Member]] = [[]]
    size = 0
    for member in members:
        needed = room(member)
        if parts[-1] and size + needed > most:
            parts.append([])
            size = 0
        parts[-1].append(member)
        size += needed
    return [
        Volume(f"{number:05}.tar", part, is_last=number == len(parts))
        for number, part in enumerate(parts, 1)
    ]


def _content(path: str, member: Member) -> Iterator[bytes]:
    sha256, size = hashlib.sha256(), 0
    try:
        with os.fdopen(os.open(path, FLAGS), "rb", 0) as file:
            while chunk := file.read(READ):
                size += len(chunk)
                if size > member.bytes:  # more would shift everything behind it in the volume
                    break
                sha256.update(chunk)
                yield chunk
    except OSError as error:
        raise MemberLost(member, error.strerror or "it cannot be read") from error
    if size != member.bytes or sha256.hexdigest() != member.sha256:
        raise MemberLost(member, "it is not the file that was harvested")
