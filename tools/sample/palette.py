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
    hue, turn = chance("hue", words) % 360, 24 + chance("turn", words) % 40
    if style(words, look) % _NIGHT == 0:
        return Palette(
            colour(hue, 33, 34), colour(hue + turn, 17, 36), (248, 244, 236), (228, 230, 234), True
        )
    ink = colour(hue, 17, 40)
    return Palette(colour(hue, 94, 45), colour(hue + turn, 77, 40), ink, (252, 250, 246), False)


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """
    >>> mixed((0, 0, 0), (100, 200, 50), 0.5)
    (50, 100, 25)
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def colour(hue: int, light: int, strength: int) -> Colour:
    """
    >>> colour(0, 50, 100), colour(240, 100, 0)
    ((255, 0, 0), (255, 255, 255))
    """
    parts = hls_to_rgb(hue % 360 / 360, light / 100, strength / 100)
    red, green, blue = (round(255 * part) for part in parts)
    return red, green, blue
