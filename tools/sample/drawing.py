"""Pictures and animations that say what they show: the words, on a pattern made from their name.

Promise: the same words and look give the same bytes in every process with the same Pillow, in a
millisecond or two. Another look is another picture, for people and for perceptual hashes.

>>> lines_of("dog can bark"), lines_of("grasshopper")
(['dog can', 'bark'], ['grasshopper'])
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from zlib import compress, crc32

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

from .gif import moving

Place = tuple[int, int]
Mask = np.ndarray[tuple[int, int], np.dtype[np.uint8]]

PICTURE = (360, 270)  # searches often leave out what is smaller than 300 x 300
COPY = (352, 264)
ANIMATION = (128, 104)
FRAMES = 3
FRAME_MS = 150
BOMB_SIDE = 30_000

_TILES = (9, 8)  # as many as a difference hash compares, so that each changes it
_LONGEST_LINE = 9
_SHADES = 6  # in the pattern of an animation
_COARSE = 3  # pixels that a smooth pattern has in one colour
_HALF = 127  # of a letter's edge
_STEP = 5  # pixels its words move from frame to frame
_STEPS = range(0, _STEP * FRAMES, _STEP)
_WRITERS: dict[str, dict[str, Any]] = {
    "jpg": {"format": "JPEG"},
    "png": {"format": "PNG", "compress_level": 1},
    "webp": {"format": "WEBP", "method": 0},
}


def picture(
    words: str, look: str, extension: str = "jpg", size: tuple[int, int] = PICTURE
) -> bytes:
    """The words, large, on a pattern of the look."""
    kind, height, *tint = (seed := _seed(words, look, 5 + 3 * _TILES[0] * _TILES[1]))[:5]
    image = Image.frombytes("RGB", _TILES, _dark(seed[5:], tint))
    if kind % 3 == 0 and extension == "jpg":  # others would take long to compress
        small = (size[0] // _COARSE, size[1] // _COARSE)
        image = image.resize(small, Image.Resampling.BILINEAR)
    image = image.resize(size, Image.Resampling.NEAREST)
    middle = (size[0] / 2, size[1] * (0.42 + 0.16 * height / 255))
    for line, (left, top) in _written(words, size, middle):
        white = Image.merge("RGB", [Image.fromarray(line)] * 3)
        under = image.crop((left, top, left + white.width, top + white.height))
        image.paste(ImageChops.lighter(under, white), (left, top))
    return _saved(image, **_WRITERS[extension])


def worse_copy(body: bytes, extension: str) -> bytes:
    """The same picture as somebody passes it on: smaller, and compressed once more."""
    with Image.open(io.BytesIO(body)) as image:
        smaller = image.resize(COPY, Image.Resampling.BICUBIC)
    return _saved(smaller, quality=40, **_WRITERS[extension])


def animation(words: str, look: str, frames: int = FRAMES) -> bytes:
    """The words, moving down a pattern of the look, as a gif. What stands still is drawn once."""
    seed = _seed(words, look, 3 * _SHADES + _TILES[0] * _TILES[1])
    tiles = Image.frombytes("P", _TILES, bytes(each % _SHADES for each in seed[3 * _SHADES :]))
    tiles.putpalette(_dark(seed[: 3 * _SHADES], seed[:3]) + b"\xff\xff\xff")
    background = tiles.resize(ANIMATION, Image.Resampling.NEAREST)
    lines, (left, top, right, bottom) = _stencil(words)
    boxes = [(left, top + down, right, bottom + down + _STEP) for down in _STEPS[: frames - 1]]
    shown = []
    for number, box in enumerate([(0, 0, *ANIMATION), *boxes]):
        image = background.crop(box)
        for line, place in lines:
            image.paste(_SHADES, (place[0] - box[0], place[1] + _STEP * number - box[1]), line)
        shown.append((_saved(image, format="GIF", optimize=False), box[:2]))
    return moving(shown, FRAME_MS) if frames > 1 else shown[0][0]


def bomb() -> bytes:
    """A small PNG that claims a side of 30,000 pixels."""
    size = BOMB_SIDE.to_bytes(4) * 2
    chunks = ((b"IHDR", size + b"\x08\x02\x00\x00\x00"), (b"IDAT", compress(b"\0" * 9_000)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in (*chunks, (b"IEND", b"")))


def lines_of(words: str) -> list[str]:
    """Short lines, so that letters can be large; a long word has a line for itself."""
    lines: list[str] = []
    for word in words.split():
        if lines and len(lines[-1]) + len(word) < _LONGEST_LINE:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _seed(words: str, look: str, length: int) -> bytes:
    name = f"{look} {words}".encode()
    parts = (blake2b(name, key=bytes([part])).digest() for part in range(-(-length // 64)))
    return b"".join(parts)[:length]


def _dark(colours: bytes, tint: Sequence[int]) -> bytes:
    """Tiles of one tint, dark enough for white letters."""
    strength = np.array([60 + each // 3 for each in tint], np.uint16)
    return (
        (np.frombuffer(colours, np.uint8).reshape(-1, 3) * strength >> 8).astype(np.uint8).tobytes()
    )


def _written(
    words: str, size: tuple[int, int], middle: tuple[float, float]
) -> Iterator[tuple[Mask, Place]]:
    """Each line, and where it begins if all are centred."""
    lines = lines_of(words)
    widest = max(map(len, lines))
    large = min(size[0] / (0.6 * widest), size[1] / (1.3 * len(lines)), size[0] / 4)
    masks = [np.hstack([_letter(each, int(large)) for each in line]) for line in lines]
    top = round(middle[1] - sum(map(len, masks)) / 2)
    for mask in masks:
        yield mask, (round(middle[0] - mask.shape[1] / 2), top)
        top += len(mask)


def _stencil(words: str) -> tuple[list[tuple[Image.Image, Place]], tuple[int, int, int, int]]:
    """The lines of an animation before they move, and what they cover."""
    width, height = ANIMATION[0], ANIMATION[1] - _STEP * FRAMES
    lines = list(_written(words, (width, height), (width / 2, height / 2)))
    left, right = (min(x for _, (x, _) in lines), max(x + mask.shape[1] for mask, (x, _) in lines))
    box = (max(left, 0), lines[0][1][1], min(right, width), lines[-1][1][1] + len(lines[-1][0]))
    return [(Image.fromarray(mask > _HALF), place) for mask, place in lines], box


@lru_cache(maxsize=2_048)
def _letter(letter: str, size: int) -> Mask:
    """As high as a line: most of a picture's time would go into shaping its letters anew."""
    font = _font(size)
    image = Image.new("L", (round(font.getlength(letter)), round(1.2 * size)))
    ImageDraw.Draw(image).text((0, 0), letter, 255, font)
    return np.asarray(image)


@lru_cache(maxsize=256)
def _font(size: int) -> FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, FreeTypeFont):
        raise RuntimeError("this Pillow cannot draw letters: it was built without FreeType")
    return font


def _saved(image: Image.Image, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, **how)
    return file.getvalue()


def _chunk(name: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + name + content + crc32(name + content).to_bytes(4)
