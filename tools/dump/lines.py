"""An assertions file as chunks of whole lines, unpacked while it is read.

Promise: every byte comes once and in order, a chunk ends where a line ends, and memory stays flat
whatever the file holds. A file that ends too early or is damaged is named as such, with the line
up to which it was read. `.gz` and `.zst` are told by the file's first bytes, not by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import zstandard
from isal import igzip
from isal.isal_zlib import IsalError

from tools.errors import UsageError

CHUNK = 1 << 20
LONGEST_LINE = 1 << 24
ZSTD_PIECE = 1 << 13  # packed bytes at once: each could unpack to thousands of times as many
LINE_END = 10
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Position(NamedTuple):
    """Where a line begins: how many unpacked bytes and lines are before it."""

    offset: int = 0
    lines: int = 0


BEGINNING = Position()


class Chunk(NamedTuple):
    text: bytes  # whole lines; only the file's last may lack its line end
    begin: Position
    end: Position


class Lines:
    """`packed` tells how many bytes of the file have been read, for whoever shows progress."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.packed = 0
        try:
            self.size = path.stat().st_size
            if not path.is_file():
                raise UsageError(f"{path} is not a file: give an assertions file")
        except OSError as error:
            raise UsageError(
                f"the file {path} cannot be read ({error.strerror}): `python main.py download` "
                f"fetches ConceptNet's; a server is written like http://host:port"
            ) from error

    def chunks(self, after: Position = BEGINNING) -> Iterator[Chunk]:
        """Everything behind a position where a line begins."""
        place, rest = after, b""
        try:
            with self.path.open("rb") as file:
                for piece in self._pieces(file, after.offset):
                    text, rest = _cut(rest + piece)
                    if text:
                        chunk = _chunk(text, place)
                        yield chunk
                        place = chunk.end
                    elif len(rest) > LONGEST_LINE:
                        raise UsageError(
                            f"{self.path} is no assertions file: {_name(place)} is endless"
                        )
        except EOFError as error:
            raise UsageError(
                f"{self.path} is truncated: it ends in the middle, after line {place.lines:,}; "
                f"get the whole file and start again"
            ) from error
        except (OSError, IsalError, zstandard.ZstdError) as error:  # type: ignore[misc]
            raise UsageError(
                f"{self.path} is damaged after line {place.lines:,} ({error}); get it anew"
            ) from error
        if rest:
            yield _chunk(rest, place)

    def _pieces(self, file: BinaryIO, skipped: int) -> Iterator[bytes]:
        for piece in self._unpacked(file):
            self.packed = file.tell()
            if skipped >= len(piece):
                skipped -= len(piece)
            else:
                yield piece[skipped:]
                skipped = 0

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(GZIP):
            with igzip.open(file, "rb") as unpacking:  # type: ignore[no-untyped-call]
                yield from iter(lambda: unpacking.read(CHUNK), b"")
        elif magic == ZSTD:
            yield from _unpack_zstd(file)
        else:
            yield from iter(lambda: file.read(CHUNK), b"")


def _unpack_zstd(file: BinaryIO) -> Iterator[bytes]:
    """Frame by frame, because only a frame knows whether it has ended."""
    unpacker = zstandard.ZstdDecompressor()
    frame = unpacker.decompressobj()
    has_begun = False
    while packed := file.read(ZSTD_PIECE):
        while packed:
            yield frame.decompress(packed)
            has_begun = True
            packed = b""
            if frame.eof:
                packed, has_begun = frame.unused_data, False
                frame = unpacker.decompressobj()
    if has_begun:
        raise EOFError


def _cut(text: bytes) -> tuple[bytes, bytes]:
    """What ends with a line, and the beginning of the next one."""
    end = text.rfind(b"\n") + 1
    return text[:end], text[end:]


def _chunk(text: bytes, begin: Position) -> Chunk:
    line_ends = int(np.count_nonzero(np.frombuffer(text, np.uint8) == LINE_END))
    lines = line_ends + (not text.endswith(b"\n"))
    return Chunk(text, begin, Position(begin.offset + len(text), begin.lines + lines))


def _name(place: Position) -> str:
    return f"line {place.lines + 1:,}"
