"""How a relation is shown by motion: where its two ends are, and how large, at each moment.

Promise: `seen` is a pure function of the relation and the moment. What it shows at the end leads
back to the beginning or rests, as a gif plays for ever.

>>> seen("AtLocation", "dog", 0.0)[1].x < seen("AtLocation", "dog", 0.9)[1].x
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import cos, pi, sin
from typing import NamedTuple

START, END = 0, 1


class Seen(NamedTuple):
    """One end: its middle and its size, as shares of the stage."""

    which: int
    x: float
    y: float
    size: float


Path = Callable[[float], Sequence[Seen]]
"""What is seen at a moment from 0 to 1, the hindmost first."""


def seen(relation: str, motif: str, moment: float) -> Sequence[Seen]:
    """Without a relation it is one thing, which moves in its own way."""
    path = RELATIONS[relation] if relation else GAITS.get(motif, _hops)
    return path(moment)


def _arriving(moment: float) -> float:
    """From 0 to 1, slowly at both ends; then it rests there."""
    at = min(moment * 1.35, 1.0)
    return at * at * (3 - 2 * at)


def _there_and_back(moment: float) -> float:
    return (1 - cos(2 * pi * moment)) / 2


def _bounce(moment: float) -> float:
    """How high: twice up and down."""
    return abs(sin(2 * pi * moment))


# One thing


def _hops(moment: float) -> Sequence[Seen]:
    return [Seen(START, 0.5, 0.56 - 0.14 * _bounce(moment), 0.8)]


def _passes(moment: float) -> Sequence[Seen]:
    return [Seen(START, 0.26 + 0.48 * _there_and_back(moment), 0.5, 0.8)]


def _glides(moment: float) -> Sequence[Seen]:
    turn = 2 * pi * moment
    return [Seen(START, 0.5 - 0.22 * cos(turn), 0.5 - 0.1 * sin(2 * turn), 0.75)]


def _sways(moment: float) -> Sequence[Seen]:
    return [Seen(START, 0.5 + 0.05 * sin(2 * pi * moment), 0.5, 0.9)]


def _beats(moment: float) -> Sequence[Seen]:
    return [Seen(START, 0.5, 0.5, 0.64 + 0.32 * _there_and_back(moment))]


# Two things


def _goes_into(moment: float) -> Sequence[Seen]:
    """The part into the whole."""
    at = _arriving(moment)
    return [Seen(END, 0.64, 0.5, 0.95), Seen(START, 0.14 + 0.5 * at, 0.5, 0.62 - 0.2 * at)]


def _comes_out(moment: float) -> Sequence[Seen]:
    """What it has, out of it."""
    at = _arriving(moment)
    return [Seen(START, 0.34, 0.5, 0.95), Seen(END, 0.34 + 0.46 * at, 0.52, 0.3 + 0.34 * at)]


def _goes_to(moment: float) -> Sequence[Seen]:
    """A thing to its place, and it stays there."""
    at = _arriving(moment)
    return [
        Seen(END, 0.68, 0.46, 0.95),
        Seen(START, 0.12 + 0.46 * at, 0.66 - 0.1 * _bounce(at), 0.5),
    ]


def _stands_by(moment: float) -> Sequence[Seen]:
    """Near, not in it."""
    at = _arriving(moment)
    return [Seen(END, 0.74, 0.5, 0.8), Seen(START, 0.1 + 0.24 * at, 0.54 - 0.06 * _bounce(at), 0.7)]


def _turns_into(moment: float) -> Sequence[Seen]:
    """The cause goes, the effect comes."""
    at = _arriving(moment)
    if at < 0.5:
        return [Seen(START, 0.32 + 0.36 * at, 0.5, 0.9 - 1.2 * at)]
    return [Seen(END, 0.32 + 0.36 * at, 0.5, 0.3 + 1.2 * (at - 0.5))]


def _does(moment: float) -> Sequence[Seen]:
    """It jumps, and what it can do appears."""
    return [
        Seen(END, 0.74, 0.44, 0.3 + 0.36 * _there_and_back(moment)),
        Seen(START, 0.32, 0.56 - 0.12 * _bounce(moment), 0.8),
    ]


def _is_put_to_use(moment: float) -> Sequence[Seen]:
    at = _there_and_back(moment)
    return [
        Seen(END, 0.7 + 0.04 * at, 0.5, 0.78),
        Seen(START, 0.22 + 0.2 * at, 0.4 + 0.14 * at, 0.66),
    ]


def _is_built(moment: float) -> Sequence[Seen]:
    """Pieces of what it is made of come together and are the thing."""
    at = _arriving(moment)
    if at > 0.75:
        return [Seen(START, 0.5, 0.5, 0.6 + 1.4 * (at - 0.75))]
    far = 0.34 * (1 - at)
    pieces = ((-1.0, -0.7), (1.0, -0.7), (-1.0, 0.7), (1.0, 0.7))
    return [Seen(END, 0.5 + far * x, 0.5 + far * y, 0.42) for x, y in pieces]


def _shines(moment: float) -> Sequence[Seen]:
    """What it is like goes round it: by a third, where the next one began."""
    turns = [2 * pi * (moment + number) / 3 for number in range(3)]
    around = [Seen(END, 0.5 + 0.36 * cos(turn), 0.5 + 0.3 * sin(turn), 0.28) for turn in turns]
    hidden = [each for each in around if each.y < 0.5]
    return [*hidden, Seen(START, 0.5, 0.5, 0.72), *(each for each in around if each.y >= 0.5)]


def _is_met(moment: float) -> Sequence[Seen]:
    """What is done to it comes, and it gives way."""
    at = _there_and_back(moment)
    return [Seen(START, 0.34 - 0.08 * at, 0.5, 0.82), Seen(END, 0.8 - 0.2 * at, 0.5, 0.62)]


def _is_brought_forth(moment: float) -> Sequence[Seen]:
    """Whoever made it stays behind it."""
    at = _arriving(moment)
    return [Seen(END, 0.3, 0.5, 0.85), Seen(START, 0.3 + 0.46 * at, 0.52, 0.24 + 0.5 * at)]


GAITS: Mapping[str, Path] = {
    **dict.fromkeys(("vehicle", "bicycle", "move", "reptile", "wheel"), _passes),
    **dict.fromkeys(("fish", "bird", "insect", "sky", "music"), _glides),
    **dict.fromkeys(("tree", "flower", "plant", "herb", "brush", "sleep"), _sways),
    **dict.fromkeys(("feeling", "fire", "quality", "idea", "number", "clean", "talk"), _beats),
}
"""By motif; whoever is not named hops."""
RELATIONS: Mapping[str, Path] = {
    "PartOf": _goes_into,
    "HasA": _comes_out,
    "AtLocation": _goes_to,
    "LocatedNear": _stands_by,
    "Causes": _turns_into,
    "CapableOf": _does,
    "UsedFor": _is_put_to_use,
    "MadeOf": _is_built,
    "HasProperty": _shines,
    "ReceivesAction": _is_met,
    "CreatedBy": _is_brought_forth,
}
