"""Which workers of which stage there are, and which of them make a pause: two facts of a state.

Promise: what a process left behind that was killed counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .facts import PAUSED_SLOTS, SLOTS, table_in

MOST_SLOTS = 100_000  # of a stage that is believed: pages have a button for each

Paused = Mapping[str, Sequence[int]]
"""By stage, the numbers of its workers that make a pause; only stages that have some."""


def slots_fact(slots: Mapping[str, int]) -> dict[str, str]:
    """How many workers each stage has; they are numbered from 1."""
    return {SLOTS: json.dumps(slots)}


def slots_in(facts: Mapping[str, str]) -> Mapping[str, int]:
    """
    >>> slots_in(slots_fact({"read": 2})), slots_in({}), slots_in({"slots": '{"a": [], "b": 1e9}'})
    ({'read': 2}, {}, {})
    """
    found = table_in(facts.get(SLOTS, ""))
    return {name: n for name, n in found.items() if isinstance(n, int) and n <= MOST_SLOTS}


def paused_fact(pid: int, paused: Paused) -> dict[str, str]:
    return {PAUSED_SLOTS: json.dumps({"pid": pid, "paused": paused}) if paused else ""}


def paused_slots(facts: Mapping[str, str], pid: int | None) -> Paused:
    """Of this process.

    >>> facts = paused_fact(7, {"read": [2]})
    >>> paused_slots(facts, 7), paused_slots(facts, 8), paused_slots(paused_fact(7, {}), 7)
    ({'read': [2]}, {}, {})
    """
    told = table_in(facts.get(PAUSED_SLOTS, ""))
    paused: Paused = told.get("paused", {}) if pid is not None and told.get("pid") == pid else {}
    return paused


def spoken(paused: Paused, slots: Mapping[str, int]) -> str:
    """
    >>> spoken({"read": [2, 3], "sum": [1]}, {"read": 3, "sum": 1})
    'read 2, read 3, sum'
    """
    return ", ".join(
        stage if len(numbers) == slots.get(stage) else ", ".join(f"{stage} {n}" for n in numbers)
        for stage, numbers in paused.items()
    )
