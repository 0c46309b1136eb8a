"""Where a WARC file goes on behind a damage.

Limit: what looks like the beginning of a record is taken for one; whoever reads it finds out.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

CHUNK = 1 << 20
BEGINNINGS = re.compile(rb"\x1f\x8b\x08|(?<=\n)WARC/\d\.\d")
LONGEST = 9  # of them, with the byte before
PEEK = 512  # bytes of a packed one that must unpack
GZIP = 16 + 15


def next_record(path: Path, offset: int) -> int | None:
    """The first byte, from this one on, at which a record may begin."""
    with path.open("rb") as file:
        begin = max(0, offset - 1)  # a plain one follows the end of a line
        file.seek(begin)
        content = file.read(CHUNK + PEEK)
        while content:
            for found in BEGINNINGS.finditer(content):
                at = found.start()
                if begin + at >= offset and at < CHUNK and _begins(content[at : at + PEEK]):
                    return begin + at
            begin += CHUNK - LONGEST
            file.seek(begin)
            content = file.read(CHUNK + PEEK) if len(content) > CHUNK else b""
    return None


def _begins(content: bytes) -> bool:
    """Three bytes may be anywhere: what they pack must be a record."""
    if content.startswith(b"WARC/"):
        return True
    try:
        return zlib.decompressobj(GZIP).decompress(content, 16).startswith(b"WARC/")
    except zlib.error:
        return False
