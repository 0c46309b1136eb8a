"""What a good moving picture is: a GIF, whole, with frames that differ."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from PIL import Image

from .errors import GiveUp
from .media.formats import GIF, Facts, Format
from .media.pictures import DAMAGED, dhash, frames, opened
from .media.settings import MediaSettings

NOUN = "a gif"
ACCEPT = "image/gif"
FORMATS = frozenset({GIF})
TRAILER = b";"
BAND = 128  # rows


def max_bytes(settings: MediaSettings) -> int:
    return settings.gif_max_bytes


def prove(file: BinaryIO, form: Format, settings: MediaSettings) -> Facts:
    with opened(file, form, settings) as picture:
        look, first, moves, milliseconds = "", b"", False, 0
        for frame in frames(picture, settings):
            milliseconds += frame.info.get("duration", 0)
            if not look:
                look, first = dhash(frame), _fingerprint(frame)
            elif not moves:
                moves = _fingerprint(frame) != first
        _check_end(file)
        width, height = picture.size
    if not moves:
        raise GiveUp("a gif that does not move")
    return Facts(width, height, milliseconds / 1000, look)


def _fingerprint(frame: Image.Image) -> bytes:
    """Of its size and every pixel, read in bands: a copy of all of a large one would be felt."""
    found = hashlib.sha256(repr(frame.size).encode())
    for top in range(0, frame.height, BAND):
        band = frame.crop((0, top, frame.width, min(top + BAND, frame.height)))
        found.update(band.convert("RGBA").tobytes())
    return found.digest()


def _check_end(file: BinaryIO) -> None:
    """Cut off between two frames it would still be a GIF, and its decoder content."""
    file.seek(-1, os.SEEK_CUR)
    if file.read(1) != TRAILER:
        raise GiveUp(DAMAGED)
