"""Words as masks: as large as a place allows, in Pillow's own font, each line drawn once.

>>> lines_of("dog can bark"), lines_of("grasshopper")
(['dog can', 'bark'], ['grasshopper'])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

LINE = 1.18  # of the letters' size
LONGEST_LINE = 11  # letters
_SMALLEST = 8
_MEASURED = 100


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


def written(words: str, area: Area, largest: float, longest: int = LONGEST_LINE) -> list[Written]:
    lines = lines_of(words, longest)
    if not lines:
        return []
    size = _size(lines, area, largest)
    masks = [line_mask(line, size) for line in lines]
    top = area.y + (area.height - sum(mask.height for mask in masks)) / 2
    placed = []
    for mask in masks:
        placed.append(Written(mask, round(area.x + (area.width - mask.width) / 2), round(top)))
        top += mask.height
    return placed


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


def lines_of(words: str, longest: int = LONGEST_LINE) -> list[str]:
    """Short lines, so that letters can be large; a long word has a line for itself."""
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
    width = round(_width(line) * size) + 2
    image = Image.new("L", (width, round(LINE * size)))
    ImageDraw.Draw(image).text((1, 0), line, 255, font(size))
    return image


@lru_cache(maxsize=256)
def font(size: int) -> FreeTypeFont:
    found = ImageFont.load_default(size)
    if not isinstance(found, FreeTypeFont):
        raise RuntimeError("this Pillow cannot draw letters: it was built without FreeType")
    return found
