"""The processes that work for a harvest, and how each fares: a fact of its state.

Promise: what a harvest left behind that was killed counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .facts import PROCESSES, table_in


class Process(NamedTuple):
    """One of them, or whoever takes its place; moments are those of the wall clock."""

    name: str
    since: float | None  # None: it is not there now
    at_work: int  # tasks
    per_minute: int  # tasks that it does, of late
    memory: int  # bytes
    deaths: int
    died_at: float | None  # the last time
    why: str


def processes_fact(pid: int, processes: Sequence[Process]) -> dict[str, str]:
    """None for a harvest that has no processes."""
    if not processes:
        return {}
    return {PROCESSES: json.dumps({"pid": pid, "processes": processes})}


def processes_in(facts: Mapping[str, str], pid: int | None) -> list[Process]:
    """Those of this harvest.

    >>> one = Process("process 1", 1e9, 3, 120, 64_000_000, 0, None, "")
    >>> facts = processes_fact(7, [one])
    >>> processes_in(facts, 7) == [one], processes_in(facts, 8), processes_in({}, None)
    (True, [], [])
    """
    told = table_in(facts.get(PROCESSES, ""))
    if pid is None or told.get("pid") != pid:
        return []
    try:
        return [_process(*each) for each in told["processes"]]
    except (KeyError, TypeError, ValueError):  # somebody else wrote it
        return []


def _process(
    name: object,
    since: float | None,
    at_work: int,
    per_minute: int,
    memory: int,
    deaths: int,
    died_at: float | None,
    why: object,
) -> Process:
    numbers = int(at_work), int(per_minute), int(memory), int(deaths)
    return Process(str(name), _moment(since), *numbers, _moment(died_at), str(why))


def _moment(value: float | None) -> float | None:
    return None if value is None else float(value)
