"""Gifs whose motion shows what they are about: a thing in its own way, a relation by both ends.

Promise: the same words and look give the same bytes in every process with the same Pillow, in a
millisecond. What stands still is drawn once: a frame is only the part that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from . import lettering, motif
from .chance import style
from .gif import moving
from .ground import ground
from .lettering import Area
from .motion import START, Seen, seen
from .palette import Palette, day
from .subject import SAID, Subject, ends_of, motif_of, subject

ANIMATION = (160, 120)
FRAMES = 6
FRAME_MS = 150

Box = tuple[int, int, int, int]
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.integer[Any]]]

_STAGE = 86  # pixels of its height; the rest is for words
_UNIT = 72  # pixels of a motif of size 1
_FINE = 9  # sides are multiples of it, so that sprites are met again
_LETTERS = 20
_USUAL = 60  # the shade of the ground that edges are mixed with
_LEVELS = 3  # of how much a pixel at an edge is covered
_SHADES = 7  # of the ground
_WORDS, _TONES = _SHADES, _SHADES + _LEVELS  # where in the palette their colours begin
_LEVEL = [(value * _LEVELS + 127) // 255 for value in range(256)]
_INKED = bytes(_WORDS + max(level, 1) - 1 for level in _LEVEL)
_COVERED = bytes(255 if level else 0 for level in _LEVEL)
_SHADE = bytes(value * _SHADES // 256 for value in range(256))
_ONE = _LEVELS * len(motif.TONES)  # colours that one motif takes


class Stamp(NamedTuple):
    """Numbers of colours, and which pixels have one."""

    image: Image.Image
    mask: Image.Image


class Placed(NamedTuple):
    sprite: Stamp
    x: int
    y: int

    @property
    def box(self) -> Box:
        width, height = self.sprite.image.size
        return self.x, self.y, self.x + width, self.y + height


def animation(words: str, look: str, frames: int = FRAMES) -> bytes:
    """What the words are about, moving, as a gif."""
    about, number = subject(words), style(words, look)
    motifs = ends_of(about) if about.relation else (motif_of(words), motif_of(words))
    is_low = bool(number & 1)  # the stage is under the words
    background = _background(words, look, about, is_low)
    stages = [
        _placed(seen(about.relation, motifs[0], at / FRAMES), motifs, is_low, bool(number & 2))
        for at in range(frames)
    ]
    shown = []
    for at, stage in enumerate(stages):
        box = _around([*stages[at - 1], *stage]) if at else (0, 0, *ANIMATION)
        shown.append((_frame(background, stage, box), box[:2]))
    return moving(shown, _colours(day(words), motifs), FRAME_MS)


def _background(words: str, look: str, about: Subject, is_low: bool) -> Image.Image:
    """What stands still: the ground and the words."""
    image = _mapped(ground(words, look, ANIMATION), _SHADE)
    width, height = ANIMATION
    area = Area(4, 2 if is_low else _STAGE, width - 8, height - _STAGE - 2)
    said = f"{about.start} {SAID[about.relation]} {about.end}" if about.relation else words
    for mask, x, y in lettering.written(said, area, _LETTERS):
        image.paste(_mapped(mask, _INKED), (x, y), _mapped(mask, _COVERED, "L"))
    return image


def _colours(palette: Palette, motifs: tuple[str, str]) -> bytes:
    """The ground's, the letters', then those of both motifs, each with its paler edges."""
    shades = np.frombuffer(palette.shades(), np.uint8).reshape(256, 3)
    solid = [palette.letters, *(motif.tones(each)[tone] for each in motifs for tone in motif.TONES)]
    shares = np.arange(1, _LEVELS + 1)[:, None] / _LEVELS
    usual = shades[_USUAL].astype(float)
    edges = usual + (np.array(solid)[:, None] - usual) * shares
    content: bytes = edges.round().astype(np.uint8).tobytes()
    return shades[:: 256 // _SHADES][:_SHADES].tobytes() + content


def _placed(
    stage: Sequence[Seen], motifs: tuple[str, str], is_low: bool, is_mirrored: bool
) -> list[Placed]:
    top = ANIMATION[1] - _STAGE if is_low else 0
    placed = []
    for each in stage:
        side = round(each.size * _UNIT / _FINE) * _FINE
        share = 1 - each.x if is_mirrored else each.x
        x, y = round(share * ANIMATION[0] - side / 2), round(top + each.y * _STAGE - side / 2)
        first = _TONES if each.which == START else _TONES + _ONE
        placed.append(Placed(_sprite(motifs[each.which], side, first), x, y))
    return placed


def _frame(background: Image.Image, stage: Sequence[Placed], box: Box) -> Image.Image:
    image = background.crop(box)
    for (sprite, mask), x, y in stage:
        image.paste(sprite, (x - box[0], y - box[1]), mask)
    return image


def _around(placed: Sequence[Placed]) -> Box:
    """What any of them covers."""
    lefts, tops, rights, bottoms = zip(*(each.box for each in placed), strict=True)
    width, height = ANIMATION
    return max(min(lefts), 0), max(min(tops), 0), min(max(rights), width), min(max(bottoms), height)


@lru_cache(maxsize=1_024)
def _sprite(name: str, side: int, first: int) -> Stamp:
    numbers, mask = _toned(name, side)
    return Stamp(_pixels(first + numbers, "P"), mask)


@lru_cache(maxsize=1_024)
def _toned(name: str, side: int) -> tuple[Numbers, Image.Image]:
    """Each pixel in the tone that has most of it, paler where the motif covers less of it."""
    shares = np.stack([np.asarray(each, np.uint16) for each in motif.shares(name, side)])
    level = (shares.sum(0) * _LEVELS + 127) // 255
    numbers = shares.argmax(0) * _LEVELS + np.maximum(level, 1) - 1
    return numbers, _pixels(np.where(level, 255, 0), "L")


def _mapped(image: Image.Image, table: bytes, mode: str = "P") -> Image.Image:
    return Image.frombytes(mode, image.size, image.tobytes().translate(table))


def _pixels(numbers: Numbers, mode: str) -> Image.Image:
    height, width = numbers.shape
    return Image.frombytes(mode, (width, height), numbers.astype(np.uint8).tobytes())
