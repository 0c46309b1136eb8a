"""The colours of a picture: two calm tones from its name, and those of what is drawn on them.

Promise: the same words and look give the same colours. Letters stand out from both tones of the
ground by far more than reading needs.

>>> palette("dog", "commons 1") == palette("dog", "commons 1")
True
"""

from __future__ import annotations

from colorsys import hls_to_rgb
from typing import NamedTuple

import numpy as np

from .chance import chance, style

Colour = tuple[int, int, int]

_SHARES = np.linspace(0, 1, 256)  # of the second tone in the ground
_NIGHT = 3  # one look in so many is dark


class Palette(NamedTuple):
    ground: Colour
    second: Colour
    letters: Colour
    plate: Colour  # what lies under a motif where the ground would hide it
    is_dark: bool

    def shades(self) -> bytes:
        """The palette of a picture whose pixels say how much of the second tone they have."""
        between = np.outer(1 - _SHARES, self.ground) + np.outer(_SHARES, self.second)
        return between.round().astype(np.uint8).tobytes()


def palette(words: str, look: str) -> Palette:
    return night(words) if style(words, look) % _NIGHT == 0 else day(words)


def day(words: str) -> Palette:
    hue, second = _hues(words)
    ink = colour(hue, 17, 40)
    return Palette(colour(hue, 94, 45), colour(second, 77, 40), ink, (252, 250, 246), False)


def night(words: str) -> Palette:
    hue, second = _hues(words)
    cream, pale = (248, 244, 236), (228, 230, 234)
    return Palette(colour(hue, 33, 34), colour(second, 17, 36), cream, pale, True)


def _hues(words: str) -> tuple[int, int]:
    hue = chance("hue", words) % 360
    return hue, hue + 24 + chance("turn", words) % 40


def colour(hue: int, light: int, strength: int) -> Colour:
    """
    >>> colour(0, 50, 100), colour(240, 100, 0)
    ((255, 0, 0), (255, 255, 255))
    """
    parts = hls_to_rgb(hue % 360 / 360, light / 100, strength / 100)
    red, green, blue = (round(255 * part) for part in parts)
    return red, green, blue
