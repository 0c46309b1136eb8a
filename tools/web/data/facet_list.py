"""Which values of a filter a page lists: the one that is on, and some of the others at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .gallery import Choice

EACH = 40
_KEY = re.compile(r"([a-z]+)\.(\d{1,9})", re.ASCII)


class Listed(NamedTuple):
    """`more` leads to the next ones, of which there are `left`; empty at the end."""

    on: Choice | None
    others: Sequence[Choice]
    is_first: bool
    more: str
    left: int


def listed(trait: str, choices: Sequence[Choice], value: str, key: str) -> Listed:
    """A value that no file has any more is still on until somebody takes it off.

    >>> listed("kind", [Choice("image", 3)], "audio", "").on
    Choice(value='audio', number=0)
    """
    on = next((each for each in choices if each.value == value), Choice(value, 0))
    others = [each for each in choices if each.value != value]
    begin = _begin(trait, key)
    end = begin + EACH
    left = max(0, len(others) - end)
    more = f"{trait}.{end}" if left else ""
    return Listed(on if value else None, others[begin:end], begin == 0, more, left)


def _begin(trait: str, key: str) -> int:
    found = _KEY.fullmatch(key)
    return int(found[2]) if found and found[1] == trait else 0
