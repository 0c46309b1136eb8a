"""What Prometheus asks a running harvest for.

Promise: everything that counts tasks comes from the state, over all runs; nobody at work waits for
the answer. No host and no URI is among it. Limit: only this computer may ask, unless the settings
name another address.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from shutil import disk_usage
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..base.extras import named
from ..engine.description import Description, Metric
from ..engine.harvest import Harvest
from ..errors import UsageError
from ..journal import timings
from .settings import AssistSettings

if TYPE_CHECKING:  # only who asks for metrics needs them
    from prometheus_client.core import Metric as Family

logger = logging.getLogger(__name__)

PREFIX = "sheaf_"


class Collector:
    """Asked anew each time."""

    def __init__(self, harvest: Harvest, settings: AssistSettings) -> None:
        self._harvest = harvest
        self._settings = settings

    def collect(self) -> Iterator[Family]:
        yield from self._tasks()
        yield from self._now()
        yield from self._traffic()
        for name, metric in self._harvest.job.metrics().items():
            yield family(PREFIX + name, metric)

    def _tasks(self) -> Iterator[Family]:
        stages = [monitor.stage.name for monitor in self._harvest.monitors]
        counts = self._harvest.pools.tally()
        yield from tasks(counts, stages)
        yield from counted(self._harvest.job.description, counts)

    def _now(self) -> Iterator[Family]:
        yield in_pools(self._harvest.pools.counts())
        busy: Counter[str] = Counter()  # not all that is handed out: some of it only lies ready
        for member in self._harvest.executor.members():
            busy.update(member.at_work)
        yield workers(
            {
                each.stage.name: states(each.stage.workers, len(each.paused), busy[each.stage.name])
                for each in self._harvest.monitors
            }
        )
        yield free_room(self._settings.state)

    def _traffic(self) -> Iterator[Family]:
        if (client := self._harvest.job.client) is None:
            return
        traffic = client.traffic
        answers = Metric("Answers by class, of this run", dict(traffic.classes), "class")
        both = {"received": traffic.bytes, "sent": traffic.sent}
        size = Metric("Bytes of requests and of bodies received, of this run", both, "direction")
        known = Counter({"resting": client.resting()})
        known.update(self._harvest.job.hosts())
        hosts = Metric("Hosts by what is done with them", dict(known), "state")
        yield family(f"{PREFIX}http_responses_total", answers)
        yield family(f"{PREFIX}bytes_total", size)
        yield family(f"{PREFIX}hosts", hosts)


def tasks(counts: Mapping[str, int], stages: Iterable[str]) -> Iterator[Family]:
    """How many ended how, and what they took, by the tally of a state."""
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    total = CounterMetricFamily(f"{PREFIX}tasks", "Tasks that ended", labels=["stage", "outcome"])
    taken = HistogramMetricFamily(f"{PREFIX}task_seconds", "What tasks took", labels=["stage"])
    for stage in stages:
        for outcome in timings.OUTCOMES:
            total.add_metric([stage, outcome], timings.tasks(counts, stage, outcome))
        spread, seconds = timings.spread(counts, stage), timings.seconds(counts, stage)
        taken.add_metric([stage], spread, seconds)
    yield from (total, taken)


def counted(job: Description, counts: Mapping[str, int]) -> Iterator[Family]:
    """What only a job of this kind counts."""
    for name, metric in job.metrics(counts).items():
        yield family(PREFIX + name, metric)


def in_pools(pools: Mapping[str, int]) -> Family:
    return family(f"{PREFIX}pool", Metric("URIs in each pool", pools, "name"))


def workers(by_stage: Mapping[str, Mapping[str, int]]) -> Family:
    from prometheus_client.core import GaugeMetricFamily

    made = GaugeMetricFamily(f"{PREFIX}workers", "Workers", labels=["stage", "state"])
    for stage, by_state in by_stage.items():
        for state, number in by_state.items():
            made.add_metric([stage, state], number)
    return made


def free_room(state: Path) -> Family:
    room = disk_usage(state).free
    return family(f"{PREFIX}disk_free_bytes", Metric("Room where the state is", room))


def states(number: int, paused: int, at_work: int) -> dict[str, int]:
    """How many of a stage's workers do what; one that ends its step before a pause is at work."""
    paused = min(paused, max(0, number - at_work))
    return {"busy": at_work, "idle": max(0, number - at_work - paused), "paused": paused}


def family(name: str, metric: Metric) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    values = metric.value if isinstance(metric.value, dict) else {"": metric.value}
    made: Family = kind(name, metric.help, labels=[metric.label] if metric.label else [])
    for value, number in values.items():
        made.add_metric([value] if metric.label else [], number)  # type: ignore[attr-defined]
    return made


class Metrics:
    """Answers as long as the `with` lasts; does nothing without a port."""

    def __init__(self, harvest: Harvest, settings: AssistSettings) -> None:
        self._port, self._address = settings.assist.metrics, settings.assist.metrics_address
        self._collector = Collector(harvest, settings)

    def __enter__(self) -> Self:
        if self._port is not None:
            self._open(self._port)
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._port is not None:
            self._server.shutdown()
            self._server.server_close()

    def _open(self, port: int) -> None:
        with named():
            from prometheus_client import CollectorRegistry, start_http_server
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self._collector)
        try:
            self._server, _ = start_http_server(port, self._address, registry)
        except OSError as error:
            place = f"{self._address}:{port}"
            raise UsageError(f"metrics cannot be served at {place}: {error.strerror}") from error
        logger.info("metrics at http://%s:%d/metrics", self._address, self._server.server_port)
