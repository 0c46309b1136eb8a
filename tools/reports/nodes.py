"""The nodes that work for a harvest, for people."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.text import ago, duration, plain, size
from ..journal.nodes import Node
from .tables import Row, beside, table

MOST_LINES = 8
HEAD = ("", "at work", "per min", "asked", "came", "failed", "free", "for")


def node_section(nodes: Sequence[Node], now: float) -> list[str]:
    """Of a report; none if there are no nodes."""
    if not nodes:
        return []
    rows: list[Row] = [HEAD, *(_row(each, now) for each in nodes)]
    remarks = [f"  {remark}" for each in nodes for remark in remarks_on(each, now)]
    return [*beside("Nodes", table(rows)), *remarks]


def node_lines(nodes: Sequence[Node]) -> list[str]:
    """For whoever looks on: one of each, or if they are many one of all.

    >>> node_lines([Node("a", 1e9, 1e9, "1", 8, 3, 120, 0, 0, 9, 99, 0, None, 0, "", "")])
    ['node a: 3 of 8 at work, 120/min']
    """
    if len(nodes) <= MOST_LINES:
        return [_line(f"node {plain(each.name)}", [each]) for each in nodes]
    return [_line(f"{len(nodes):,} nodes", nodes)]


def remarks_on(each: Node, now: float) -> list[str]:
    """What is worth knowing of one, in words."""
    name, found = plain(each.name), []
    if each.since is None and each.heard is not None:
        found.append(f"{name} is silent since {ago(now - each.heard)}")
    if each.held:
        found.append(f"{name} is held: {plain(each.held)}")
    if each.refused:
        found.append(f"{name} may not: {plain(each.refused)}")
    if each.owners:
        waiting = f" ({size(each.waiting_bytes)} to be shipped)" if each.waiting_bytes else ""
        found.append(f"{name} alone has the files of {each.owners:,}{waiting}")
    return found


def _line(name: str, nodes: Sequence[Node]) -> str:
    at_work, places = sum(each.at_work for each in nodes), sum(each.places for each in nodes)
    done = sum(each.per_minute for each in nodes)
    silent = sum(each.since is None for each in nodes)
    held = sum(bool(each.held) for each in nodes)
    more = [f"{number} {word}" for number, word in ((silent, "silent"), (held, "held")) if number]
    if len(nodes) == 1:
        more = [word.partition(" ")[2] for word in more]
    return ", ".join([f"{name}: {at_work} of {places} at work", f"{done:,}/min", *more])


def _row(each: Node, now: float) -> Row:
    """What failed are names that could not be looked up, and connections."""
    since = "silent" if each.since is None else duration(max(0.0, now - each.since))
    free = "" if each.free_bytes is None else size(each.free_bytes)
    failed = f"{each.failed_names:,} + {each.failed_connections:,}"
    at_work = f"{each.at_work:,} of {each.places:,}"
    asked = f"{each.requests:,}", size(each.bytes)
    return plain(each.name), at_work, f"{each.per_minute:,}", *asked, failed, free, since
