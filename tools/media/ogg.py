"""The pages of an Ogg: whether all of them are there, and of one sound.

Promise: every page is whole and has the checksum it states, none between them is missing, and the
last one says that it is the last. Limit: several sounds in one file are refused, one behind the
other as well as mixed: the decoder would show the first alone.
"""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO

from ..errors import GiveUp

CUT_SHORT, DAMAGED = "cut short", "damaged or cut short"
FIRST, LAST = 2, 4  # flags of a page
HEAD = 27
MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def check_pages(file: BinaryIO) -> None:
    """Raises GiveUp if something is missing, damaged, or of another sound."""
    end, at, number, flags = file.seek(0, os.SEEK_END), 0, 0, FIRST
    file.seek(0)
    while (head := file.read(HEAD)).startswith(b"OggS"):
        lengths = file.read(head[26]) if len(head) == HEAD else b""
        size = HEAD + len(lengths) + sum(lengths)
        if len(head) < HEAD or len(lengths) < head[26] or at + size > end:
            raise GiveUp(CUT_SHORT)
        page, flags = head + lengths + file.read(sum(lengths)), head[5]
        if number and flags & FIRST:
            raise GiveUp("several sounds in one")
        if _number(page, 18) != number or _number(page, 22) != checksum(page):
            raise GiveUp(DAMAGED)
        at, number = at + size, number + 1
    if not flags & LAST:
        raise GiveUp(CUT_SHORT)
    if b"OggS" in head + file.read():
        raise GiveUp(DAMAGED)


def checksum(page: bytes) -> int:
    """Ogg's own: that of zip with the bits of every byte, and of the result, in the other order."""
    plain = page[:22] + bytes(4) + page[26:]
    turned = zlib.crc32(plain.translate(MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{turned:032b}"[::-1], 2)


def _number(page: bytes, at: int) -> int:
    return int.from_bytes(page[at : at + 4], "little")
