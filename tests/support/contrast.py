"""How far colours stand out from one another, as the guidelines for readable pages reckon it."""

from __future__ import annotations

import re
from collections.abc import Sequence

Colour = Sequence[int]
"""Red, green and blue, each up to 255."""


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: Colour) -> float:
    shares = [each / 255 for each in colour[:3]]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colour_of(text: str) -> Colour:
    """As a browser tells it, rgb(1, 2, 3), or as a stylesheet does, #abc or #aabbcc."""
    if text.startswith("#"):
        digits = text[1:] if len(text) == 7 else "".join(2 * each for each in text[1:])
        return [*bytes.fromhex(digits)]
    return [int(each) for each in re.findall(r"\d+", text)[:3]]
