"""Words as masks: as large as a place allows, in Pillow's own font, each line drawn once.

>>> lines_of("dog can bark", 9), lines_of("grasshopper", 9)
(['dog can', 'bark'], ['grasshopper'])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

Mask = np.ndarray[tuple[int, int], np.dtype[np.uint8]]

LINE = 1.24  # of the letters' size, from the highest to the lowest
_LENGTHS = (40, 26, 20, 15, 11, 8, 5)  # of lines, in letters
_SMALLEST = 8
_MEASURED = 100
_EDGE = 2  # pixels by which a letter may reach over its neighbour


class Written(NamedTuple):
    """A line, and where its upper left corner is."""

    mask: Image.Image
    x: int
    y: int


class Area(NamedTuple):
    """Where words may stand; they are centred in it."""

    x: float
    y: float
    width: float
    height: float


def written(words: str, area: Area, largest: float) -> list[Written]:
    """In as many lines as make the letters largest."""
    sizes = ((_size(lines, area, largest), lines) for lines in _ways(words))
    size, lines = max(sizes, key=itemgetter(0))
    masks = [line_mask(line, size) for line in lines]
    top = area.y + (area.height - sum(mask.height for mask in masks)) / 2
    placed = []
    for mask in masks:
        placed.append(Written(mask, round(area.x + (area.width - mask.width) / 2), round(top)))
        top += mask.height
    return placed


@lru_cache(maxsize=4_096)
def _ways(words: str) -> Sequence[list[str]]:
    """To write them in lines, the fewest first."""
    every = (lines_of(words, longest) for longest in _LENGTHS)
    return list({len(lines): lines for lines in every}.values())


def _size(lines: Sequence[str], area: Area, largest: float) -> int:
    """Even ones only, so that fonts and lines are met again."""
    widest = max(map(_width, lines))
    size = min(area.width / widest, area.height / (LINE * len(lines)), largest)
    return max(_SMALLEST, int(size) // 2 * 2)


def _width(line: str) -> float:
    """In letters' sizes; a little less if some stand closer together."""
    return sum(map(_advance, line))


@lru_cache(maxsize=1_024)
def _advance(letter: str) -> float:
    return font(_MEASURED).getlength(letter) / _MEASURED


def lines_of(words: str, longest: int) -> list[str]:
    """Lines of fewer letters than that; a longer word has a line for itself."""
    lines: list[str] = []
    for word in words.split():
        if lines and len(lines[-1]) + len(word) < longest:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


@lru_cache(maxsize=1_024)
def line_mask(line: str, size: int) -> Image.Image:
    """As high as a line. Nobody may write on it."""
    width = round(_width(line) * size) + 2 * _EDGE
    ink = np.zeros((round(LINE * size), width + size), np.uint8)
    left = 0.0
    for letter in line:
        mask = _letter(letter, size)
        under = ink[:, round(left) : round(left) + mask.shape[1]]
        np.maximum(under, mask, out=under)
        left += _advance(letter) * size
    return Image.fromarray(ink[:, :width])


@lru_cache(maxsize=4_096)
def _letter(letter: str, size: int) -> Mask:
    """As high as a line, with a little room on both sides: most of a picture's time would go into
    shaping its letters anew."""
    image = Image.new("L", (round(_advance(letter) * size) + 2 * _EDGE, round(LINE * size)))
    ImageDraw.Draw(image).text((_EDGE, 0), letter, 255, font(size))
    return np.asarray(image)


@lru_cache(maxsize=256)
def font(size: int) -> FreeTypeFont:
    found = ImageFont.load_default(size)
    if not isinstance(found, FreeTypeFont):
        raise RuntimeError("this Pillow cannot draw letters: it was built without FreeType")
    return found
