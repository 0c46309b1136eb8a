"""What of the job `layers` is done on nodes, as its coordinator sees it.

Promise: what a node brings is a stranger's word. Rows are of the task's tables and columns, what it
found are requests of the task's layers at their depths, an answer is kept where the task keeps
some; anything else is a ValueError, and nothing of it is kept. The task itself never travels.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..base.config import table_of
from ..cluster.abroad import Abroad
from ..cluster.hosts import HostReports
from ..cluster.travel import TravelCargo, field
from ..engine.stage import Done, Found
from ..engine.stage import Task as Leased
from ..errors import GiveUp, UsageError
from ..layers.asker import lane_in
from ..layers.kept import Answer, answer_told
from ..layers.request import Request, identity_of, request_of
from ..layers.task import Task
from ..layers.visit import DROPPED, ROWS, SKIPPED, STAGE, STATUS, Visited
from ..network.hosts import Hosts
from ..network.limits import Limits
from ..settings import Settings
from ..tables.declared import Table
from ..tables.rows import Brought, Row
from ..tables.travelling import unpacked

if TYPE_CHECKING:
    from .layers import LayersJob

TRAVEL = (
    *("connect_timeout_s", "timeout_s", "delay_s", "delay_factor", "per_host"),
    *("crawl_delay_cap_s", "max_bytes"),
)
DAY_S = 86_400.0
MOST_ROWS, LONGEST_URI = 1_000_000, 20_000
COUNTS = (ROWS, SKIPPED, DROPPED, STATUS)


def code_of(task: Task) -> str:
    """How its files are called between machines."""
    return f"tasks/{task.name}"


def abroad_of(
    job: LayersJob,
    settings: Settings,
    task: Task,
    tables: Mapping[str, Table],
    hosts: Hosts,
    activity: Callable[[], int],
) -> Abroad:
    if task.cookies == "task":
        raise UsageError(
            f'{task.place}: cookies = "task" is one session for all its requests, which nodes '
            "cannot share: start it without --cluster"
        )
    limits = job.client.limits
    cargo = VisitCargo(task, tables, HostReports(hosts), activity, settings.layers.max_bytes)
    return Abroad(
        job.harvest_id,
        job.description.name,
        _setup_of(settings, task),
        {STAGE: cargo},
        limits if isinstance(limits, Limits) else None,
        job.client.traffic,
        codes={STAGE: {code_of(task): task.digest}},
        advice=_advice(settings, task),
    )


def _setup_of(settings: Settings, task: Task) -> dict[str, Any]:
    """Proxies, and where tasks lie, are each node's own."""
    table = table_of(settings)
    layers = {name: table["layers"][name] for name in TRAVEL}
    return {
        "settings": {"http": table["http"], "layers": layers},
        "task": task.name,
        "only": list(settings.layers.only),
        "per_node": sorted(settings.cluster.per_node),
    }


def _advice(settings: Settings, task: Task) -> list[str]:
    """Where more nodes cannot make anything faster."""
    limits, layers, found = task.limits, settings.layers, []
    delay_s = layers.delay_s if limits.delay_s is None else limits.delay_s
    if delay_s > 0:
        found.append(
            f"visit: each host is asked every {delay_s:g} s by all nodes together, one request at "
            "a time, so nodes make it faster only where a task has several hosts"
        )
    own = {*settings.cluster.per_node}
    for host, rates in limits.rates.items():
        if host not in own:
            found.append(f"visit: {host} allows {' and '.join(rates)} to all nodes together")
    return found


class VisitCargo(TravelCargo):
    """Rows, requests and perhaps the raw answer of one page. `activity` is that of now."""

    def __init__(
        self,
        task: Task,
        tables: Mapping[str, Table],
        reports: HostReports,
        activity: Callable[[], int],
        most: int,
    ) -> None:
        super().__init__(reports)
        self._task, self._tables, self._activity, self._most = task, tables, activity, most

    def records(self, task: Leased, done: Done, said: Any) -> Visited:
        if done.to != "finished" or done.reason is not None:
            raise ValueError("what was found leads elsewhere")
        for group in done.found:
            self._check_found(group)
        age_s = field(said, "age_s", (int, float))
        if not 0 <= age_s <= DAY_S:
            raise ValueError("its age_s cannot be right")
        rows = self._rows(field(said, "rows", list))
        _check_counts(done.tally, rows, self._task.left_out)
        seen = time.time() - age_s
        brought = Brought(task.uri, rows, [*self._tables], self._activity(), seen)
        return Visited(brought, self._answer(task, said.get("answer")))

    # --- what is stored ----------------------------------------------------------------------

    def _rows(self, said: list[Any]) -> list[Row]:
        if len(said) > MOST_ROWS:
            raise ValueError("too many rows")
        return [self._row(each) for each in said]

    def _row(self, said: Any) -> Row:
        if not isinstance(said, list) or len(said) != 2 or not isinstance(said[1], dict):
            raise ValueError("a row that is none")
        name, values = said
        table = self._tables.get(name) if isinstance(name, str) else None
        if table is None or not values.keys() <= table.columns.keys():
            raise ValueError("a row of a table or column that the task has not")
        row = Row(table.name)
        row.values = {key: unpacked(value) for key, value in values.items()}
        return row

    def _answer(self, task: Leased, said: Any) -> Answer | None:
        options = self._task.options(request_of(task.uri, task.note).layer)
        if not options.keep:
            if said is not None:
                raise ValueError("an answer that nobody keeps")
            return None
        answer = answer_told(task.uri, said, self._most)
        if answer.answered.status not in options.status:
            raise ValueError("an answer that is no page")
        return answer

    # --- what is asked next ------------------------------------------------------------------

    def _check_found(self, group: Found) -> None:
        if group.stage != STAGE or group.priority != 0 or group.again is not None:
            raise ValueError("what was found is not found like that")
        notes = group.notes if group.notes is not None else [None] * len(group.uris)
        for uri, note in zip(group.uris, notes, strict=True):
            if group.depth is None or self._depth(uri, note) != group.depth:
                raise ValueError("a request of another depth")

    def _depth(self, uri: str, note: str | None) -> int:
        """ValueError unless identity and note are of one request of this task."""
        if len(uri) > LONGEST_URI:
            raise ValueError("a request that is too long")
        try:
            request = request_of(uri, note)
            depth = self._task.layers[request.layer]
            identity = self._identity(request)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, GiveUp) as error:
            raise ValueError("no request of this task") from error
        if _address(identity) != _address(uri) or not lane_in(uri):
            raise ValueError("a request that is another than it says")
        if request.method != "JSON" and identity != uri:
            raise ValueError("a request that is another than it says")
        return depth

    def _identity(self, request: Request) -> str:
        with_referer = self._task.options(request.layer).with_referer
        return identity_of(request, self._task.forget, with_referer)


def _address(uri: str) -> list[str]:
    return uri.split(" ", 3)[:3]


def _check_counts(
    tally: Mapping[str, int], rows: Collection[Row], left_out: Collection[object]
) -> None:
    """Of rows as many as there are; the rest is what a visit counts."""
    counted = {name: number for name, number in tally.items() if name.startswith(ROWS)}
    if counted != Counter(f"{ROWS}{row.table}" for row in rows):
        raise ValueError("it counts other rows than it has")
    dropped = {f"{DROPPED}{layer}" for layer in left_out}
    for name in tally:
        if not name.startswith(COUNTS) or (name.startswith(DROPPED) and name not in dropped):
            raise ValueError(f"it counts {name[:100]!r}")
