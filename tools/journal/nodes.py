"""The nodes that work for a harvest, and how each fares: a fact of its state.

Promise: what a harvest left behind that was killed counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .facts import NODES, table_in


class Node(NamedTuple):
    """One machine; moments are those of the wall clock."""

    name: str
    since: float | None  # None: it is silent, or has not come yet
    heard: float | None  # the last time
    version: str
    places: int
    at_work: int
    per_minute: int  # tasks that it does, of late
    failed_names: int  # that could not be looked up
    failed_connections: int
    requests: int
    bytes: int
    waiting_bytes: int  # to be shipped
    free_bytes: int | None  # of its disk
    owners: int  # whose files lie there and are shipped nowhere yet
    held: str  # because; empty if it takes tasks
    refused: str  # stages it may not do, and why


def nodes_fact(pid: int, nodes: Sequence[Node]) -> dict[str, str]:
    """Nothing for a harvest without any."""
    return {NODES: json.dumps({"pid": pid, "nodes": nodes})} if nodes else {}


def nodes_in(facts: Mapping[str, str], pid: int | None) -> list[Node]:
    """Those of this harvest.

    >>> one = Node("a", 1e9, 1e9, "1", 8, 3, 120, 0, 0, 9, 99, 0, None, 0, "", "")
    >>> facts = nodes_fact(7, [one])
    >>> nodes_in(facts, 7) == [one], nodes_in(facts, 8), nodes_in({}, None)
    (True, [], [])
    """
    told = table_in(facts.get(NODES, ""))
    if pid is None or told.get("pid") != pid:
        return []
    try:
        return [Node(*each) for each in told["nodes"]]
    except (KeyError, TypeError, ValueError):  # somebody else wrote it
        return []
