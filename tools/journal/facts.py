"""What a harvest has written down about itself: texts in its state, here what they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..base.credentials import hidden

PAUSED = "paused"  # by which process, and since when; empty: by none
LEASE_RUN = "lease_run"  # counts the processes that handed anything out; no matter for people
SLOTS, PAUSED_SLOTS = "slots", "paused_slots"  # see `pauses`
NEXT_ROUND = "next_round"  # which process waits, and until when; empty: none
EFFECTIVE = "effective"  # see `effective`
PROCESSES = "processes"  # see `processes`
NODES = "nodes"  # see `nodes`
RESTS, AT_WORK, ALLOWED = "rests", "at_work", "allowed"  # see the modules of these names
NOTHING_YET = dict.fromkeys(
    (PAUSED, PAUSED_SLOTS, NEXT_ROUND, PROCESSES, NODES, RESTS, AT_WORK), ""
)
"""Of a process that has just begun; the one before it may have been killed."""
HIDDEN = (*NOTHING_YET, LEASE_RUN, SLOTS, ALLOWED, EFFECTIVE)
Types = Mapping[str, Callable[[str], object]]
"""How the text under a key is read; ValueError if it cannot be."""


def pause_of(pid: int, since: float) -> dict[str, str]:
    return {PAUSED: f"{pid} {since}"}


def paused_since(facts: Mapping[str, str], pid: int | None) -> float | None:
    """Since when this process makes a pause. What another one left behind counts for nothing.

    >>> facts = pause_of(7, 1e9)
    >>> paused_since(facts, 7), paused_since(facts, 8), paused_since(facts, None)
    (1000000000.0, None, None)
    """
    return _moment(facts.get(PAUSED, ""), pid)


def next_round_of(pid: int, moment: float) -> dict[str, str]:
    return {NEXT_ROUND: f"{pid} {moment}"}


def next_round(facts: Mapping[str, str], pid: int | None) -> float | None:
    """Until when this process waits for its next round; None if it does not."""
    return _moment(facts.get(NEXT_ROUND, ""), pid)


def _moment(text: str, pid: int | None) -> float | None:
    holder, _, moment = text.partition(" ")
    try:
        return float(moment) if pid is not None and holder == str(pid) else None
    except ValueError:
        return None


def table_in(text: str) -> dict[str, Any]:
    """What cannot be read is nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def typed(facts: Mapping[str, str], types: Types) -> dict[str, object]:
    """For whoever looks: numbers, lists and nothing as such. What cannot be read stays a text.
    Addresses have no logins and queries: whoever typed a secret there does not want it shown.

    >>> typed({"depth": "3", "limit": "", "names": "a b"}, {"depth": int, "names": str.split})
    {'depth': 3, 'limit': None, 'names': ['a', 'b']}
    >>> typed({"command": "--source http://me@h/?key=1"}, {})
    {'command': '--source http://h/'}
    >>> typed({"seeds": '["http://h/?key=1","http://i/"]'}, {"seeds": json.loads})
    {'seeds': ['http://h/', 'http://i/']}
    """
    known = {"limit": _limit, **types}
    shown = {key: text for key, text in facts.items() if key not in HIDDEN}
    return {key: _hidden(_typed(known.get(key, str), text)) for key, text in shown.items()}


def _hidden(value: object) -> object:
    """Each text of a list by itself: of several addresses in one none could be told apart."""
    if isinstance(value, list):
        return [_hidden(each) for each in value]
    if isinstance(value, dict):
        return {key: _hidden(each) for key, each in value.items()}
    return hidden(value) if isinstance(value, str) else value


def _limit(text: str) -> int | None:
    return int(text) if text else None


def _typed(read: Callable[[str], object], text: str) -> object:
    try:
        value = read(text)
    except ValueError:
        return text
    is_huge = isinstance(value, int) and value.bit_length() > 63  # JSON has no room for it
    return text if is_huge else value
