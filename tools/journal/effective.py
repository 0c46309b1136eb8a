"""The settings that a run really has, each with where that comes from, as it wrote them down.

They cannot be found anew: its file may have changed since, and whoever looks typed other flags.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .facts import EFFECTIVE


class Value(NamedTuple):
    """A setting, and where it comes from. A secret is only set or not."""

    name: str
    text: str
    origin: str


def effective_of(values: Sequence[Value]) -> dict[str, str]:
    return {EFFECTIVE: json.dumps(values, ensure_ascii=False)}


def effective_in(facts: Mapping[str, str]) -> list[Value]:
    """None of a run of an older version, or if they cannot be read.

    >>> effective_in(effective_of([Value("depth", "3", "flag --depth")]))
    [Value(name='depth', text='3', origin='flag --depth')]
    >>> effective_in({}), effective_in({"effective": '[["depth", 3, null], [], 7]'})
    ([], [])
    """
    try:
        found = json.loads(facts.get(EFFECTIVE, "[]"))
    except (ValueError, RecursionError):
        return []
    rows = found if isinstance(found, list) else []
    return [Value(*each) for each in rows if _is_value(each)]


def _is_value(row: object) -> bool:
    is_whole = isinstance(row, list) and len(row) == len(Value._fields)
    return is_whole and all(isinstance(each, str) for each in row)  # type: ignore[attr-defined]
