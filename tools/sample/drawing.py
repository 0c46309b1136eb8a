"""Pictures that say what they show: a motif and its name, or two and what is between them.

Promise: the same words and look give the same bytes in every process with the same Pillow, in a
millisecond or two. Another look is another picture, for people and for perceptual hashes.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple
from zlib import compress, crc32

from PIL import Image

from . import lettering
from .chance import style
from .ground import ground
from .lettering import Area
from .motif import sprite
from .palette import Colour, Palette, palette
from .subject import SAID, Subject, ends_of, motif_of, subject

PICTURE = (360, 270)  # searches often leave out what is smaller than 300 x 300
COPY = (352, 264)
BOMB_SIDE = 30_000

_WRITERS: dict[str, dict[str, Any]] = {
    "jpg": {"format": "JPEG"},
    "png": {"format": "PNG", "compress_level": 1},
    "webp": {"format": "WEBP", "method": 0},
}


class Place(NamedTuple):
    """Of a motif: its middle and its side, as shares of a picture's width and height."""

    x: float
    y: float
    side: float


class Words(NamedTuple):
    """Where they stand, as shares of a picture's width and height."""

    x: float
    y: float
    width: float
    height: float


ALONE = (
    (Place(0.5, 0.37, 0.58), Words(0.06, 0.69, 0.88, 0.27)),
    (Place(0.28, 0.5, 0.58), Words(0.51, 0.1, 0.45, 0.8)),
    (Place(0.72, 0.5, 0.58), Words(0.04, 0.1, 0.45, 0.8)),
    (Place(0.5, 0.63, 0.58), Words(0.06, 0.04, 0.88, 0.27)),
)
"""Where one thing and its name may be."""
BOTH = (
    (
        (Place(0.21, 0.37, 0.46), Words(0.02, 0.66, 0.44, 0.3)),
        (Place(0.5, 0.33, 0.2), Words(0.39, 0.42, 0.22, 0.22)),
        (Place(0.79, 0.37, 0.46), Words(0.54, 0.66, 0.44, 0.3)),
    ),
    (
        (Place(0.21, 0.64, 0.46), Words(0.02, 0.04, 0.44, 0.3)),
        (Place(0.5, 0.6, 0.2), Words(0.39, 0.69, 0.22, 0.22)),
        (Place(0.79, 0.64, 0.46), Words(0.54, 0.04, 0.44, 0.3)),
    ),
    (
        (Place(0.19, 0.25, 0.46), Words(0.38, 0.07, 0.58, 0.32)),
        (Place(0.53, 0.54, 0.2), Words(0.06, 0.47, 0.38, 0.13)),
        (Place(0.8, 0.75, 0.46), Words(0.03, 0.63, 0.58, 0.32)),
    ),
    (
        (Place(0.81, 0.25, 0.46), Words(0.04, 0.07, 0.58, 0.32)),
        (Place(0.47, 0.54, 0.2), Words(0.56, 0.47, 0.38, 0.13)),
        (Place(0.2, 0.75, 0.46), Words(0.39, 0.63, 0.58, 0.32)),
    ),
)
"""Where the start, what is said between, and the end may be."""
_ON_PLATE = 0.7  # of the plate's side
_LONG = 9  # letters of a word that needs the whole width


class Sheet:
    """A picture that is being drawn."""

    def __init__(self, words: str, look: str, size: tuple[int, int]) -> None:
        self.colours: Palette = palette(words, look)
        image = ground(words, look, size)
        image.putpalette(self.colours.shades())
        self.image = image.convert("RGB")

    def motif(self, name: str, place: Place) -> None:
        image, mask = sprite(name, self._side(place))
        self.image.paste(image, self._corner(place), mask)

    def on_plate(self, name: str, place: Place) -> None:
        self._flat("disc", place, self.colours.plate)
        self.motif(name, place._replace(side=_ON_PLATE * place.side))

    def arrow(self, place: Place, is_back: bool) -> None:
        self._flat("back" if is_back else "arrow", place, self.colours.letters)

    def words(self, text: str, where: Words, largest: float = 0.2) -> None:
        """Large letters are so many shares of the picture's height."""
        width, height = self.image.size
        area = Area(where.x * width, where.y * height, where.width * width, where.height * height)
        for mask, x, y in lettering.written(text, area, largest * height):
            self.image.paste(self.colours.letters, (x, y), mask)

    def _flat(self, name: str, place: Place, colour: Colour) -> None:
        self.image.paste(colour, self._corner(place), sprite(name, self._side(place)).mask)

    def _side(self, place: Place) -> int:
        return round(place.side * self.image.height)

    def _corner(self, place: Place) -> tuple[int, int]:
        half = self._side(place) / 2
        return round(place.x * self.image.width - half), round(place.y * self.image.height - half)


def picture(
    words: str, look: str, extension: str = "jpg", size: tuple[int, int] = PICTURE
) -> bytes:
    """What the words are about, as this look shows it."""
    sheet = Sheet(words, look, size)
    about = subject(words)
    if about.relation:
        _draw_both(sheet, about, style(words, look))
    else:
        _draw_alone(sheet, words, style(words, look))
    return _saved(sheet.image, **_WRITERS[extension])


def _draw_alone(sheet: Sheet, words: str, number: int) -> None:
    """On a plate where the ground is dark."""
    longest = max(map(len, words.split()))
    options = ALONE if longest < _LONG else (ALONE[0], ALONE[-1])
    place, where = options[number % len(options)]
    if sheet.colours.is_dark:
        sheet.on_plate(motif_of(words), place)
    else:
        sheet.motif(motif_of(words), place)
    sheet.words(words, where)


def _draw_both(sheet: Sheet, about: Subject, number: int) -> None:
    (start, its_name), (arrow, said), (end, other_name) = BOTH[number % len(BOTH)]
    motifs = ends_of(about)
    sheet.on_plate(motifs[0], start)
    sheet.on_plate(motifs[1], end)
    sheet.arrow(arrow, is_back=start.x > end.x)
    sheet.words(SAID[about.relation], said, 0.1)
    sheet.words(about.start, its_name, 0.15)
    sheet.words(about.end, other_name, 0.15)


def worse_copy(body: bytes, extension: str) -> bytes:
    """The same picture as somebody passes it on: smaller, and compressed once more."""
    with Image.open(io.BytesIO(body)) as image:
        smaller = image.resize(COPY, Image.Resampling.BICUBIC)
    return _saved(smaller, quality=40, **_WRITERS[extension])


def bomb() -> bytes:
    """A small PNG that claims a side of 30,000 pixels."""
    size = BOMB_SIDE.to_bytes(4) * 2
    chunks = ((b"IHDR", size + b"\x08\x02\x00\x00\x00"), (b"IDAT", compress(b"\0" * 9_000)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in (*chunks, (b"IEND", b"")))


def _saved(image: Image.Image, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, **how)
    return file.getvalue()


def _chunk(name: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + name + content + crc32(name + content).to_bytes(4)
