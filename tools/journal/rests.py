"""Whom a harvest leaves alone, until when and why: a fact of its state.

Promise: what a harvest left behind that was killed counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .facts import RESTS, table_in

MOST = 100  # that are named; of the others it is known how many they are


class Resting(NamedTuple):
    """A host or a provider; `until` by the wall clock."""

    name: str
    until: float
    reason: str


def rests_fact(pid: int, resting: Sequence[Resting]) -> dict[str, str]:
    told = {"pid": pid, "number": len(resting), "resting": resting[:MOST]}
    return {RESTS: json.dumps(told) if resting else ""}


def named_in(facts: Mapping[str, str]) -> list[str]:
    """By whichever harvest wrote it.

    >>> named_in(rests_fact(7, [Resting("example.org", 1e9, "HTTP 503")])), named_in({})
    (['example.org'], [])
    """
    pid = table_in(facts.get(RESTS, "")).get("pid")
    return [each.name for each in rests_in(facts, pid if isinstance(pid, int) else None)]


def unnamed_in(facts: Mapping[str, str], pid: int | None) -> int:
    """How many more there were when this was written.

    >>> unnamed_in(rests_fact(7, [Resting("a", 1e9, "")] * 120), 7)
    20
    """
    number = table_in(facts.get(RESTS, "")).get("number")
    named = len(rests_in(facts, pid))
    return max(0, number - named) if named and isinstance(number, int) else 0


def rests_in(facts: Mapping[str, str], pid: int | None) -> list[Resting]:
    """Those of this harvest.

    >>> facts = rests_fact(7, [Resting("example.org", 1e9, "HTTP 503")])
    >>> rests_in(facts, 7), rests_in(facts, 8), rests_in(rests_fact(7, []), 7)
    ([Resting(name='example.org', until=1000000000.0, reason='HTTP 503')], [], [])
    """
    told = table_in(facts.get(RESTS, ""))
    if pid is None or told.get("pid") != pid:
        return []
    try:
        return [Resting(str(name), float(until), str(why)) for name, until, why in told["resting"]]
    except (KeyError, TypeError, ValueError):  # somebody else wrote it
        return []
