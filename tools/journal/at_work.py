"""Who works on what in a harvest: a fact of its state.

Promise: what a harvest left behind that was killed counts for nothing. Limit: who works on what is
as old as the latest sample, some seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .facts import AT_WORK, table_in

MOST, LONGEST = 500, 300  # that are named, and characters of a URI; of the others their number


class AtWork(NamedTuple):
    """A worker and its task; `since` by the wall clock."""

    holder: str
    stage: str
    uri: str
    depth: int
    attempts: int
    since: float


def at_work_fact(pid: int, at_work: Sequence[AtWork]) -> dict[str, str]:
    shown = [each._replace(uri=each.uri[:LONGEST]) for each in at_work[:MOST]]
    told = {"pid": pid, "number": len(at_work), "at_work": shown}
    return {AT_WORK: json.dumps(told) if shown else ""}


def at_work_in(facts: Mapping[str, str], pid: int | None) -> list[AtWork]:
    """Of this harvest.

    >>> one = AtWork("fetch-3", "fetch", "/c/en/dog", 1, 0, 1e9)
    >>> facts = at_work_fact(7, [one])
    >>> at_work_in(facts, 7) == [one], at_work_in(facts, 8), at_work_in({}, 7)
    (True, [], [])
    """
    told = table_in(facts.get(AT_WORK, ""))
    if pid is None or told.get("pid") != pid:
        return []
    try:
        return [_read(*each) for each in told["at_work"]]
    except (KeyError, TypeError, ValueError):  # somebody else wrote it
        return []


def number_at_work(facts: Mapping[str, str], pid: int | None) -> int:
    """How many there were when this was written, named or not.

    >>> number_at_work(at_work_fact(7, [AtWork("f", "fetch", "/c/en/dog", 1, 0, 1e9)] * 620), 7)
    620
    """
    named = len(at_work_in(facts, pid))
    number = table_in(facts.get(AT_WORK, "")).get("number")
    return max(named, number) if named and isinstance(number, int) else named


def _read(
    holder: object, stage: object, uri: object, depth: int, attempts: int, since: float
) -> AtWork:
    return AtWork(str(holder), str(stage), str(uri), int(depth), int(attempts), float(since))
