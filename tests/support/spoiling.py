"""Messages spoilt at a place of chance, as a stranger might send them."""

from __future__ import annotations

import copy
import math
from random import Random
from typing import Any

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**62, 2**70, 1.5, math.nan, math.inf, -1e300),
    *("", "x", "../../etc/passwd", "\0", "\ud800", "a" * 10_000, "finished", "to_visit"),
    *([], [[]], [None], ["list", [1]], ["decimal", "x"], ["int", "9" * 6000], {}, {"": None}),
    *(["dict", [[["list", []], 1]]], ["bytes", "!"], ["text", "/w=="]),
)


def spoilt(message: Any, random: Random) -> Any:
    """A copy with another value, one less or one more, somewhere in it."""
    found = copy.deepcopy(message)
    place = found
    while True:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        key = random.choice(keys)
        below = place[key]
        if isinstance(below, dict | list) and below and random.random() < 0.8:
            place = below
            continue
        _spoil(place, key, random)
        return found


def _spoil(place: Any, key: Any, random: Random) -> None:
    how = random.randrange(10)
    if how == 0:
        del place[key]
    elif how == 1 and isinstance(place, list):
        place.append(copy.deepcopy(random.choice(JUNK)))
    elif how == 2 and isinstance(place, dict):
        place[str(random.choice(JUNK))[:50]] = place[key]
    else:
        place[key] = copy.deepcopy(random.choice(JUNK))
