"""Media files as parts of a page, and why one of them cannot be.

Promise: only regular files inside the media folder are read, only types of our own list are named
in a page, and one page embeds no more bytes than its budget. Large pictures are made smaller.
"""

from __future__ import annotations

import io
import os
import stat
from base64 import b64encode
from pathlib import Path

from PIL import Image, ImageOps

from ..add import Media

PAGE_BYTES = 40_000_000
FILE_BYTES = 50_000_000  # a larger picture is not even read
MOST_PIXELS = 89_478_485  # what Pillow takes for a bomb: 256 MB
BYTES_A_PIXEL = 400  # of a side: a file below that needs no smaller copy
PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
SOUNDS = frozenset(
    {"audio/mpeg", "audio/ogg", "audio/opus", "audio/wav", "audio/flac", "audio/mp4", "audio/aac"}
)
STILL = frozenset({"image/jpeg"})  # a PNG or a WebP may move
TYPES = {"image": PICTURES, "visual": PICTURES, "audio": SOUNDS}
SMOOTH = frozenset({"L", "LA", "RGB", "RGBA", "CMYK"})  # a palette has no shades in between
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
NOT_HERE = "The file is not on this computer."  # it was shipped, or a node has it


class NotShown(Exception):
    """Why a file is not on the page, in words for the one who looks at it."""


Stills = dict[tuple[str, int], bytes]
"""Small pictures that several pages show, by path and side: each is made once."""


class Album:
    """The files of one page."""

    def __init__(
        self, folder: Path, budget: int = PAGE_BYTES, stills: Stills | None = None
    ) -> None:
        self._folder = folder.resolve()
        self._budget = self._left = budget
        self._stills: Stills = {} if stills is None else stills

    def data(self, media: Media, side: int) -> str:
        """The address that holds the file itself; a picture is at most about `side` pixels wide
        and high."""
        if media.mime not in TYPES.get(media.kind, ()):
            raise NotShown("Files of this type are not shown.")
        content = self._read(media)
        if media.kind == "image" and len(content) > side * BYTES_A_PIXEL:
            return self._embedded(smaller(content, side), "image/webp")
        return self._embedded(content, media.mime)

    def still(self, media: Media, side: int) -> str:
        """A small picture of an image or of the beginning of a gif."""
        if (made := self._stills.get((media.path, side))) is None:
            content = self._read(media)
            if media.mime in STILL and len(content) <= side * BYTES_A_PIXEL:
                return self._embedded(content, media.mime)
            made = self._stills[media.path, side] = smaller(content, side)
        return self._embedded(made, "image/webp")

    def _read(self, media: Media) -> bytes:
        if self._left <= 0:
            raise self._full()
        content = read_inside(self._folder, media.path, FILE_BYTES)
        if media.kind != "image" and len(content) > self._left:
            raise self._full()
        return content

    def _embedded(self, content: bytes, mime: str) -> str:
        if len(content) > self._left:
            raise self._full()
        self._left -= len(content)
        return f"data:{mime};base64,{b64encode(content).decode()}"

    def _full(self) -> NotShown:
        return NotShown(f"This page is full: it holds {self._budget / 1e6:.0f} MB of media.")


def read_inside(folder: Path, path: str, limit: int) -> bytes:
    """A recorded path is a stranger's: neither `..` nor a link leads out of the folder."""
    try:
        place = (folder / path).resolve()
        if not place.is_relative_to(folder):
            raise NotShown("Its recorded place is outside of the media folder.")
        with open(place, "rb", opener=_open) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise NotShown("Its recorded place is no file.")
            content = file.read(limit + 1)
    except (OSError, ValueError):
        raise NotShown(NOT_HERE) from None
    if len(content) > limit:
        raise NotShown(f"The file is larger than {limit / 1e6:.0f} MB.")
    return content


def _open(place: str, flags: int) -> int:
    """Without waiting: it may be a pipe that nobody writes to."""
    return os.open(place, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def smaller(content: bytes, side: int) -> bytes:
    """A WebP that is upright and at most `side` pixels wide and high."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:  # a filter of warnings is all threads'
                raise ValueError
            image.draft("RGB", (side, side))  # a large JPEG is not decoded in full
            image.load()  # how it lies may be told behind its pixels
            mode = "RGBA" if image.has_transparency_data else "RGB"
            is_smooth = image.mode in SMOOTH and "transparency" not in image.info
            small = image if is_smooth else image.convert(mode)
            small.thumbnail((side, side))  # first: what follows copies every pixel
            drawn = ImageOps.exif_transpose(small).convert(mode)
        written = io.BytesIO()
        drawn.save(written, "WEBP", quality=80, method=2)
        return written.getvalue()
    except Exception:  # Pillow raises anything on hostile bytes, and on strange EXIF of good ones
        raise NotShown("The picture cannot be read.") from None
