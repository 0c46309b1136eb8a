"""What each worker does now, the processes that work beside the harvest, and other machines."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ..journal.at_work import Lease, leases_in, machines_in
from ..journal.pauses import slots_in
from .site import Site

MOST = 500


class WorkSeen(NamedTuple):
    """`seconds`: for so long at least, since this server first saw it."""

    stage: str
    holder: str
    uri: str
    name: str
    depth: int
    attempts: int
    seconds: float


def work(site: Site) -> dict[str, Any]:
    view, leases = site.view(), leases_in(site.file, MOST)
    if view.running is None:
        leases = []
    names = view.job.known_as(site.file, [each.uri for each in leases])
    _remember(site, leases)
    now = time.monotonic()
    at_work = [
        WorkSeen(
            each.stage,
            each.holder,
            each.uri,
            names.get(each.uri, each.uri),
            each.depth,
            each.attempts,
            round(now - site.first_seen.get(each.token, now)),
        )
        for each in leases
    ]
    return {
        "at_work": [each for each in at_work if each.holder],
        "ready": [each for each in at_work if not each.holder],
        "processes": list(view.processes),
        "machines": machines_in(site.file),
        "slots": slots_in(view.seen.facts),
        "paused_slots": view.paused_slots,
        "now": view.now,
    }


def _remember(site: Site, leases: list[Lease]) -> None:
    """A state does not say since when; whoever looks on learns it."""
    now, before = time.monotonic(), site.first_seen
    site.first_seen = {each.token: before.get(each.token, now) for each in leases}
