"""What a picture is drawn on: soft paper of two tones with one large shape, another for each look.

Promise: whichever words and look, neighbouring places differ by a step that survives compression,
so that perceptual hashes tell pictures apart that people tell apart by what is drawn on them.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from PIL import Image, ImageChops, ImageDraw

from .chance import chance

Size = tuple[int, int]

_PLACES = (9, 8)  # as many as a difference hash compares
_LEVELS, _STEP = 4, 36  # of the paper, in shades between its two tones
_SHAPE = 255 - _STEP * (_LEVELS - 1)
_FINER = 2
_COARSE, _SMALL = 3, 200  # pixels that the paper has in one shade, unless it is not wider
SHAPES = ("hill", "sun", "slope", "arch", "shore", "plain")


def ground(words: str, look: str, size: Size) -> Image.Image:
    """How much of the second tone each pixel has."""
    coarse = _COARSE if size[0] > _SMALL else 1
    smaller = (-(-size[0] // coarse), -(-size[1] // coarse))
    paper = _paper(words, look).resize(smaller, Image.Resampling.BILINEAR)
    shape = _shape(chance("shape", words, look) % (2 * len(SHAPES)), size)
    return ImageChops.add(paper.resize(size, Image.Resampling.NEAREST), shape)


def _paper(words: str, look: str) -> Image.Image:
    """Row by row one step up or down, never level."""
    width, height = _PLACES
    digest = blake2b(f"{look} {words}".encode(), digest_size=width).digest()
    rows = bytearray()
    for row in range(height):
        level = digest[row] % _LEVELS
        for place in range(width):
            rows.append(level * _STEP)
            is_up = digest[place] >> row & 1
            level += 1 if level == 0 or (is_up and level < _LEVELS - 1) else -1
    return Image.frombytes("L", _PLACES, bytes(rows))


@lru_cache(maxsize=48)
def _shape(number: int, size: Size) -> Image.Image:
    """Odd ones are mirrored."""
    width, height = (_FINER * side for side in size)
    image = Image.new("L", (width, height))
    pen = ImageDraw.Draw(image)
    match SHAPES[number // 2]:
        case "hill":
            pen.ellipse((-0.4 * width, 0.62 * height, 0.9 * width, 1.9 * height), _SHAPE)
        case "sun":
            pen.ellipse((-0.1 * width, -0.2 * height, 0.55 * width, 0.66 * height), _SHAPE)
        case "slope":
            pen.polygon((0, 0.2 * height, 0.75 * width, height, 0, height), _SHAPE)
        case "arch":
            pen.ellipse((0.1 * width, 0.1 * height, 1.2 * width, 1.6 * height), _SHAPE)
        case "shore":
            pen.rectangle((0, 0.64 * height, width, height), _SHAPE)
            pen.ellipse((-0.2 * width, 0.54 * height, 0.6 * width, 0.8 * height), _SHAPE)
    if number % 2:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return image.resize(size, Image.Resampling.BOX)
