"""What a good image is: JPEG, PNG or WebP, whole, neither tiny nor huge."""

from __future__ import annotations

import os
from typing import BinaryIO

from .errors import GiveUp
from .media.formats import JPEG, PNG, WEBP, Facts, Format
from .media.jpeg import plain_jpeg
from .media.pictures import DAMAGED, dhash, frames, opened, reduce_decoding, refusing
from .media.settings import MediaSettings

NOUN = "an image"
ACCEPT = "image/jpeg, image/png, image/webp"
FORMATS = frozenset({JPEG, PNG, WEBP})
TAIL = 65_536


def max_bytes(settings: MediaSettings) -> int:
    return settings.image_max_bytes


def prove(file: BinaryIO, form: Format, settings: MediaSettings) -> Facts:
    """Decodes all of it: PNG and WebP may hold further frames, the first is what it looks like."""
    if form == JPEG:
        with refusing():
            if (found := plain_jpeg(file, settings)) is not None:
                return Facts(found.width, found.height, phash=dhash(found.reduced))
    with opened(file, form, settings) as picture:
        width, height = picture.size
        reduce_decoding(picture)
        looks = [dhash(each) for number, each in enumerate(frames(picture, settings)) if not number]
        if form == PNG:
            _check_end(file)
    return Facts(width, height, phash=looks[0])


def _check_end(file: BinaryIO) -> None:
    """Its decoder is content when all rows are there."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    if b"IEND" not in file.read():
        raise GiveUp(DAMAGED)
