"""What the sample's pictures show: a small drawing for each kind of thing, in a few tones.

Promise: the same motif and size give the same masks in every process with the same Pillow. They
are drawn once for each size and kept; whoever asks must not write on them.

Limit: `motifs.tsv` draws on a square of 100 x 100. A motif's first row has the hue and strength of
its colours and the hue of its accents; the others are shapes, each over those before it. Behind a
space its name may have what is written on it, as in "number 21".
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw

from .lettering import font
from .palette import Colour, colour

DRAWN = Path(__file__).with_name("motifs.tsv")
TONES = ("main", "deep", "light", "accent", "ink")
NOTHING = "ground"  # a shape of this tone takes away what is under it

_SIDE = 100
_FINER = 3  # so much larger than asked for is it drawn, for smooth edges
_IS_TONE = [
    [255 * (value == number) for value in range(256)] for number in range(1, len(TONES) + 1)
]
_LARGE = 200  # pixels of a side; edges of larger ones are fine enough in half of that


class Shape(NamedTuple):
    tone: str
    name: str
    numbers: tuple[int, ...]


class Motif(NamedTuple):
    hue: int
    strength: int
    accent: int
    shapes: Sequence[Shape]


@cache
def motifs() -> Mapping[str, Motif]:
    found: dict[str, Motif] = {}
    with DRAWN.open(encoding="utf-8", newline="") as file:
        for name, tone, shape, text in list(csv.reader(file, delimiter="\t"))[1:]:
            numbers = tuple(map(int, text.split()))
            if tone == "hue":
                hue, strength, accent = numbers
                found[name] = Motif(hue, strength, accent, [])
            else:
                found[name] = found[name]._replace(
                    shapes=[*found[name].shapes, Shape(tone, shape, numbers)]
                )
    return found


class Sprite(NamedTuple):
    """What is in its colours, and how much of each pixel it covers."""

    image: Image.Image
    mask: Image.Image


@lru_cache(maxsize=512)
def sprite(name: str, side: int) -> Sprite:
    finer = _FINER if side < _LARGE else 2
    numbers = _drawn(name, finer * side)
    mask = numbers.point([0] + [255] * 255).reduce(finer)
    colours = tones(name)
    numbers.putpalette([part for tone in TONES[:1] + TONES for part in colours[tone]])
    return Sprite(numbers.convert("RGB").reduce(finer), mask)


def shares(name: str, side: int) -> list[Image.Image]:
    """How much of each pixel each of the tones has."""
    numbers = _drawn(name, _FINER * side)
    return [numbers.point(each).reduce(_FINER) for each in _IS_TONE]


@lru_cache(maxsize=512)
def tones(name: str) -> Mapping[str, Colour]:
    hue, strength, accent, _ = _motif(name)
    return {
        "main": colour(hue, 56, strength),
        "deep": colour(hue, 38, strength),
        "light": colour(hue, 87, strength),
        "accent": colour(accent, 62, 55),
        "ink": (38, 38, 48),
    }


def _drawn(name: str, side: int) -> Image.Image:
    """Pixels are numbers of tones, from 1; 0 is nothing."""
    image = Image.new("L", (side, side))
    pen = ImageDraw.Draw(image)
    for shape in _motif(name).shapes:
        fill = 0 if shape.tone == NOTHING else TONES.index(shape.tone) + 1
        _draw(pen, shape, side / _SIDE, fill)
    if label := name.partition(" ")[2]:
        middle = (side / 2, side / 2)
        pen.fontmode = "1"  # its pixels are numbers of tones, so none may be between two
        pen.text(middle, label, TONES.index("light") + 1, font(side // 2), anchor="mm")
    return image


def _motif(name: str) -> Motif:
    return motifs()[name.partition(" ")[0]]


def _draw(pen: ImageDraw.ImageDraw, shape: Shape, scale: float, fill: int) -> None:
    first, *rest = numbers = [number * scale for number in shape.numbers]
    match shape.name:
        case "oval":
            pen.ellipse(numbers, fill)
        case "poly":
            pen.polygon(numbers, fill)
        case "box":
            pen.rounded_rectangle(rest, first, fill)
        case "pie":
            pen.pieslice(numbers[:4], shape.numbers[4], shape.numbers[5], fill)
        case "arc":
            pen.arc(rest[:4], shape.numbers[5], shape.numbers[6], fill, round(first))
        case "line":
            _line(pen, rest, first, fill)
        case _:
            raise ValueError(f"{DRAWN.name} has a shape that nobody can draw: {shape.name}")


def _line(pen: ImageDraw.ImageDraw, numbers: Sequence[float], width: float, fill: int) -> None:
    """With round ends."""
    pen.line(numbers, fill, round(width), joint="curve")
    half = width / 2
    for x, y in zip(numbers[::2], numbers[1::2], strict=True):
        pen.ellipse((x - half, y - half, x + half, y + half), fill)
