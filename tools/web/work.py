"""What each worker does now, the processes that work beside the harvest, and other machines."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..journal.nodes import Node
from ..journal.pauses import slots_in
from ..reports.nodes import remarks_on
from .site import Site


class WorkSeen(NamedTuple):
    """`seconds`: for so long. `name` is what people call it."""

    stage: str
    holder: str
    uri: str
    name: str
    depth: int
    attempts: int
    seconds: int


class NodeSeen(NamedTuple):
    """Another machine, and what is worth knowing of it in words."""

    node: Node
    remarks: list[str]


def work(site: Site) -> dict[str, Any]:
    view = site.view()
    names = view.job.known_as(site.file, [each.uri for each in view.at_work])
    at_work = [
        WorkSeen(
            each.stage,
            each.holder,
            each.uri,
            names.get(each.uri, each.uri),
            each.depth,
            each.attempts,
            max(0, round(view.now - each.since)),
        )
        for each in view.at_work
    ]
    handed_out = sum(n for name, n in view.seen.pools.items() if name.startswith("on_"))
    return {
        "at_work": at_work,
        "at_work_in_all": view.number_at_work,
        "ready": max(0, handed_out - view.number_at_work) if view.running else 0,
        "processes": list(view.processes),
        "nodes": [NodeSeen(each, remarks_on(each, view.now)) for each in view.nodes],
        "slots": slots_in(view.seen.facts),
        "paused_slots": view.paused_slots,
        "now": view.now,
    }
