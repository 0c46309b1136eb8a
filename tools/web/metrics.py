"""What Prometheus asks the page for: the same names as of a harvest that answers by itself, from
its state.

Limit: what only the running process knows (answers by class, bytes sent, hosts that are busy, what
this run stored) is not here; bytes are of all runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..assist.metrics import PREFIX, counted, family, free_room, in_pools, states, tasks, workers
from ..base.extras import named
from ..engine.description import Metric
from ..errors import HarvestError
from ..journal.hosts import received_in
from ..journal.pauses import slots_in
from ..journal.reader import counts_in, moment
from ..reports import rates
from .overview import at_work_in
from .site import Site

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family


def metrics_of(site: Site) -> tuple[bytes, str]:
    """The text, and its type."""
    with named():
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(site))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class Collector:
    """Asked once."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def collect(self) -> Iterator[Family]:
        try:
            view = self._site.view()
            counts, received = self._totals(view.seen.format)
        except HarvestError:
            yield family(f"{PREFIX}up", Metric("Does the harvest run?", 0))
            return
        pools, stages = view.seen.pools, rates.stages(view.seen.pools)
        slots, paused = slots_in(view.seen.facts), view.paused_slots
        yield family(f"{PREFIX}up", Metric("Does the harvest run?", int(view.running is not None)))
        yield from tasks(counts, stages)
        yield from counted(view.job, counts)
        yield in_pools(pools)
        yield workers(
            {
                each: states(slots.get(each, 0), len(paused.get(each, ())), at_work_in(view, each))
                for each in stages
                if view.running is not None and f"on_{each}" in pools
            }
        )
        yield free_room(self._site.state)
        said = Metric("Bytes of bodies received, of all runs", {"received": received}, "direction")
        yield family(f"{PREFIX}bytes_total", said)
        resting = Metric("Hosts by what is done with them", {"resting": view.resting}, "state")
        yield family(f"{PREFIX}hosts", resting)

    def _totals(self, format_: int) -> tuple[dict[str, int], int]:
        """The tally, with what tasks took, which is no matter for views; and bytes received."""
        with moment(self._site.file) as db:
            counts = counts_in(db.execute("SELECT counts FROM tally").fetchone()[0])
            return counts, received_in(db) if format_ > 1 else 0
