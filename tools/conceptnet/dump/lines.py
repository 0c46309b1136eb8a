"""An assertions file as chunks of whole lines, unpacked while it is read.

Promise: every byte comes once and in order, a chunk ends where a line ends, and memory stays flat
whatever the file holds. A file that ends too early or is damaged is named as such, with the line
up to which it was read. `.gz` and `.zst` are known by the file's first bytes, not by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import zstandard
from isal import igzip_lib

from ...base.memory import keep_memory
from ...errors import UsageError

CHUNK = 1 << 19  # more would not stay in the processor's cache while it is looked through
LONGEST_LINE = 1 << 24
GZIP_PIECE = 1 << 15
ZSTD_PIECE = 1 << 9  # packed bytes at once: each may unpack to 32,000 times as many, all at once
LINE_END = 10
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ZSTD_REMARK = b"\x2a\x4d\x18"  # after a first byte: what pzstd begins its files with


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
    """`packed` is how many bytes of the file have been read, for whoever shows progress."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.packed = 0
        try:
            self.size = path.stat().st_size
            if not path.is_file():
                raise UsageError(f"{path} is not a file: give an assertions file")
            path.open("rb").close()
        except OSError as error:
            raise UsageError(
                f"the file {path} cannot be read ({error.strerror}): `python main.py download` "
                f"fetches ConceptNet's; a server is written like http://host:port"
            ) from error

    def chunks(self, after: Position = BEGINNING) -> Iterator[Chunk]:
        """Everything behind a position where a line begins."""
        keep_memory()
        place, rest = after, b""
        try:
            with self.path.open("rb") as file:
                for piece in self._pieces(file, after.offset):
                    text, rest = _cut(rest, piece)
                    if text:
                        chunk = _chunk(text, place)
                        yield chunk
                        place = chunk.end
                    if len(rest) > LONGEST_LINE:
                        raise UsageError(
                            f"{self.path} is no assertions file: {_name(place)} is endless"
                        )
        except EOFError as error:
            raise UsageError(
                f"{self.path} is truncated: it ends in the middle, after line {place.lines:,}; "
                f"get the whole file and start again"
            ) from error
        except (OSError, igzip_lib.IsalError, zstandard.ZstdError) as error:  # type: ignore[misc]
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
            return _gathered(_unpack_gzip(file))
        if magic == ZSTD or magic[1:] == ZSTD_REMARK:
            return _gathered(_unpack_zstd(file))
        return iter(lambda: file.read(CHUNK), b"")


def _unpack_gzip(file: BinaryIO) -> Iterator[bytes]:
    """Member by member: whatever comes before an end too early is given."""
    member: igzip_lib.IgzipDecompressor | None = None
    packed = b""
    while packed := packed or file.read(GZIP_PIECE):
        if member is None:
            packed = packed.lstrip(b"\0")  # some media fill up their last block with these
            if not packed:
                continue
            if not packed.startswith(GZIP[: len(packed)]):
                raise OSError("something else follows what is packed")
            member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        yield member.decompress(packed, CHUNK)
        while not member.needs_input and not member.eof:
            yield member.decompress(b"", CHUNK)
        packed = b""
        if member.eof:
            packed, member = member.unused_data, None
    if member is not None:
        raise EOFError


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


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Fewer and larger ones; what was there before an error comes before it."""
    held: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size >= CHUNK:
                yield b"".join(held)
                held, size = [], 0
    except Exception:
        yield b"".join(held)
        raise
    yield b"".join(held)


def _cut(before: bytes, piece: bytes) -> tuple[bytes, bytes]:
    """What ends with a line, and the beginning of the next one."""
    end = piece.rfind(b"\n") + 1
    if not end:
        return b"", before + piece
    return before + piece[:end], piece[end:]


def _chunk(text: bytes, begin: Position) -> Chunk:
    line_ends = int(np.count_nonzero(np.frombuffer(text, np.uint8) == LINE_END))
    lines = line_ends + (not text.endswith(b"\n"))
    return Chunk(text, begin, Position(begin.offset + len(text), begin.lines + lines))


def _name(place: Position) -> str:
    return f"line {place.lines + 1:,}"
