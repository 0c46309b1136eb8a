"""JPEGs as nearly all are: decoded in one call, without Pillow's own look at each marker.

Promise: what is taken here is decoded whole and within the limits, by the same decoder and with the
same result as in `pictures`. Whatever is unusual in any way is left to that.
"""

from __future__ import annotations

import os
import struct
from typing import BinaryIO, NamedTuple

from PIL import Image

from .pictures import HASHED_FROM, check_scans, check_size
from .settings import MediaSettings

AT_ONCE = 2**20  # bytes: longer ones are decoded piece by piece
SEGMENT = struct.Struct(">BBH")  # 0xff, what it is, its length
FRAME = struct.Struct(">BHHB")  # bits, height, width, components
FRAMES = {0xC0: False, 0xC1: False, 0xC2: True}  # baseline, extended; is it progressive?
PASSED = frozenset({0xC4, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)})  # tables, comments, metadata


class Start(NamedTuple):
    width: int
    height: int
    is_progressive: bool


class Jpeg(NamedTuple):
    width: int
    height: int
    reduced: Image.Image  # in grey, no larger than its hash needs


def plain_jpeg(file: BinaryIO, settings: MediaSettings) -> Jpeg | None:
    """None if it is none; GiveUp beyond the limits. ValueError if it is damaged or cut short."""
    if os.fstat(file.fileno()).st_size > AT_ONCE:
        return None
    file.seek(0)
    content = file.read()
    if (start := start_in(content)) is None:
        return None
    width, height, is_progressive = start
    check_size(width, height, settings)
    if is_progressive:
        check_scans(content.count(b"\xff\xda"))
    scale = _scale(width, height)
    size = -(-width // scale), -(-height // scale)
    if size[0] * size[1] > settings.max_frame_pixels:
        return None
    return Jpeg(width, height, Image.frombytes("L", size, content, "jpeg", "L", "", scale, 0))


def start_in(content: bytes) -> Start | None:
    """What its header says, read as strictly as the decoder does."""
    at = 2
    try:
        while True:
            begin, kind, length = SEGMENT.unpack_from(content, at)
            if begin != 0xFF or length < 2:
                return None
            if kind in FRAMES:
                bits, height, width, components = FRAME.unpack_from(content, at + SEGMENT.size)
                is_usual = bits == 8 and components in (1, 3) and width and height
                return Start(width, height, FRAMES[kind]) if is_usual else None
            if kind not in PASSED:
                return None
            at += 2 + length
    except struct.error:
        return None


def _scale(width: int, height: int) -> int:
    """A decoder gives half, a quarter or an eighth of the size for less."""
    most = min(width // HASHED_FROM[0], height // HASHED_FROM[1])
    return next((scale for scale in (8, 4, 2) if most >= scale), 1)
