"""The job `layers`: the pages of a site by a task's layers, deepest first, into declared tables,
again and again. Its stage is `visit`."""

from __future__ import annotations

import logging
import time
import uuid
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ..archive.origin import Origin
from ..base.credentials import hidden
from ..engine.description import Metric
from ..engine.harvest import Harvest
from ..engine.job import Counted, Job
from ..engine.panel import Panel
from ..engine.pools import Pools
from ..errors import HarvestError, NothingHarvested, StateDamaged, Unavailable
from ..journal.rests import Resting
from ..layers import snapshot
from ..layers.activity import Activity, create_tables, first_requests
from ..layers.kept import Kept
from ..layers.store import Store
from ..layers.suspicions import suspicions
from ..layers.task import Task
from ..layers.visit import Visit, found_of
from ..settings import Settings
from ..tables.declared import Table, tables_of
from ..tables.rows import TableCount
from ..tables.target import Target, open_target
from .layers_asking import asker_of, hosts_of, task_client
from .layers_description import LAYERS
from .layers_task import database_in, is_there, task_in
from .layers_watch import Watch
from .named_tables import DATABASE, TABLES
from .ownership import ID, Past
from .silent_hosts import left_alone, said_of

if TYPE_CHECKING:
    from ..cluster.abroad import Abroad

logger = logging.getLogger(__name__)

AWAY_S = 60.0  # until a database that does not answer is asked again
CHECK = "check"  # what seems to be wrong with the rows; empty: nothing


class LayersJob(Job):
    description = LAYERS

    def __init__(
        self,
        settings: Settings,
        arguments: Namespace,
        target: Target,
        tables: Mapping[str, Table],
        past: Past,
        stop: Event,
    ) -> None:
        self._settings, self._arguments, self._target = settings, arguments, target
        self._task: Task = task_in(settings)
        self._tables, self._past = tables, past
        self._opened = ExitStack()
        self._counts: Mapping[str, TableCount] | None = None  # at the end
        self._is_away = False
        self._world = "the built-in task" if arguments.sample else "the task"
        layers = settings.layers
        self._hosts = hosts_of(settings, self._task)
        self.client = task_client(settings, self._task, stop)
        asker = asker_of(settings, self._task, self.client, self._hosts)
        self._visit = Visit(self._task, tables, asker)
        self.workers = {"visit": self._visit}
        (stage,) = LAYERS.stages(settings)
        limit = arguments.limit and arguments.limit + past.counts.get("done_visit", 0)
        self._stage = replace(stage, workers=self._task.workers, gate=self._hosts, limit=limit)
        self.stages = [self._stage]
        self.task_timeout_s, self.scan_s = layers.task_timeout_s, layers.scan_s
        self._id = past.harvest or uuid.uuid4().hex
        self._store = Store(target)
        self._pools: Pools | None = None  # until it is open

    def _open_archive(self) -> None:
        """If any layer keeps its answers. The pools know whose it is before it does."""
        layers = self._settings.layers
        if any(self._task.options(layer).keep for layer in self._task.layers):
            robots = "obey" if self._task.robots else "ignore"
            origin = Origin(self._id, self._settings.http.contact, robots)
            kept = Kept(self._settings.state, origin, int(layers.archive_file_mb * 1e6))
            self._opened.callback(kept.close)
            self._store.kept = kept

    @property
    def store(self) -> Store:
        return self._store

    @property
    def harvest_id(self) -> str:
        return self._id

    def abroad(self) -> Abroad:
        from .layers_abroad import abroad_of

        ways = self._settings, self._task, self._tables, self._hosts
        return abroad_of(self, *ways, lambda: self._visit.activity)

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "world": f"{self._world} {self._task.name}"}

    def choices(self) -> dict[str, str]:
        return {DATABASE: hidden(database_in(self._settings).url)}

    def close_too(self, opened: ExitStack) -> None:
        self._opened.callback(opened.close)

    # --- from the start to the end ---------------------------------------------------------

    def open(self, harvest: Harvest) -> None:
        pools = self._pools = harvest.pools
        pools.remember({ID: self._id, TABLES: "\n".join(self._tables)})
        self._open_archive()
        self._make_tables()
        create_tables(self._task, self._target)
        self._activity = Activity(self._task, self._stage, pools)
        self._visit.activity = self._activity.begin()
        self.seeds = found_of(self._task, first_requests(self._task, self._target))
        if self._arguments.requests:
            again = self._activity.revive(snapshot.read(self._arguments.requests))
            logger.info("%d requests of %s wait now", again, self._arguments.requests)
            self._arguments.requests = None  # the next activity has its own
        self.guard = Watch(harvest, self._hosts, self._settings)

    def _make_tables(self) -> None:
        """They may be those of several tasks; the first one's name stays in them."""
        is_new = bool(self._tables) and self._target.owner(self._tables) is None
        if is_new and (worked := self._past.counts.get("finished", 0)):
            raise _lost(self._settings, worked)
        for sentence in self._target.prepare(self._tables):
            logger.info("%s", sentence)
        if is_new:
            self._target.claim(self._id, self._tables)

    def finish(self, harvest: Harvest) -> None:
        is_over = not (harvest.was_stopped or harvest.has_work())
        given = self._activity.end(self._target) if is_over else {}
        snapshot.write(self._settings.pools_file)
        self._counts = self._counted_rows()
        self._tell(harvest, is_over, given)
        try:
            self._suspect(harvest)
        except Unavailable as error:
            logger.warning("whether rows are missing is not looked at: %s", error)

    def _counted_rows(self) -> Mapping[str, TableCount] | None:
        """None if the database does not answer now."""
        try:
            return self._target.counts(self._tables)
        except Unavailable as error:
            logger.warning("the rows are not counted: %s", error)
            return None

    def _tell(self, harvest: Harvest, is_over: bool, given: Mapping[str, int]) -> None:
        """One line for the log, and what was left out."""
        rows = " ".join(f"{name}={each.rows}" for name, each in (self._counts or {}).items())
        pools = " ".join(f"{name}={count}" for name, count in harvest.pools.counts().items())
        steps = "".join(f" {step}={number}" for step, number in given.items())
        how = "ended" if is_over else "is interrupted"
        number = self._activity.number
        logger.info("activity %d %s: rows %s; %s%s", number, how, rows, pools, steps)
        for reason, count in self._store.misfits.items():
            logger.warning("rows left out: %d x %s", count, reason)

    def _suspect(self, harvest: Harvest) -> None:
        wrong = suspicions(self._target, self._tables, self._activity.number)
        harvest.pools.remember({CHECK: "\n".join(wrong)})
        for sentence in wrong:
            logger.warning("check the task, or the site has changed: %s", sentence)
        if wrong:
            harvest.verdict += f"; to be checked: {', '.join(wrong)}"

    def next_round(self, harvest: Harvest) -> float | None:
        if self._arguments.once or self._arguments.limit or harvest.was_stopped:
            return None
        if self._is_away:
            return time.time() + AWAY_S
        if self._task.at:
            from ..base.crontab import parse  # it takes a scheduler with it

            slots = parse(self._task.at, f"{self._task.place}: activity.at")
            now = datetime.now(UTC)
            moment = slots.get_next_fire_time(now, now)
            return None if moment is None else moment.timestamp()
        if not self._task.every:
            return None
        return time.time() + self._task.every

    def is_ready(self) -> bool:
        """Does the database answer?"""
        try:
            self._target.owner(self._tables)
        except Unavailable as error:
            logger.warning("the next activity waits for the database: %s", error)
            self._is_away = True
            return False
        self._is_away = False
        return True

    def problem(self, harvest: Harvest) -> HarvestError | None:
        if harvest.was_stopped or self._task.every or self._task.at or self._arguments.limit:
            return None
        counts = self._counts
        if not self._tables or counts is None or any(each.rows for each in counts.values()):
            return None
        return NothingHarvested(
            "no row was stored: `python history.py --failed` with its --state says why, "
            f"`python main.py layers {self._task.name} --try URL` shows what a page gives"
        )

    def close(self) -> None:
        self.client.close()
        self._opened.close()

    # --- how far it is ---------------------------------------------------------------------

    def counted(self) -> Sequence[Counted]:
        return (Counted("rows", sum(self._store.rows.values()), "stored"),)

    def waits(self) -> str:
        return said_of(self._hosts.resting())

    def hosts(self) -> Mapping[str, int]:
        return self._hosts.states()

    def allowed(self) -> Mapping[str, str]:
        return {"": self._hosts.spoken, **self.client.allowed}

    def resting(self) -> Sequence[Resting]:
        return left_alone(self._hosts)

    def metrics(self) -> Mapping[str, Metric]:
        rows = {name: float(number) for name, number in self._store.rows.items()}
        return {"rows_stored_total": Metric("Rows stored by this run, by table", rows, "table")}

    def summary(self) -> Sequence[Panel]:
        counts = self._pools.tally() if self._pools is not None else {}
        rows = [(name, each.rows) for name, each in (self._counts or {}).items()]
        misfits = [(reason, number) for reason, number in self._store.misfits.most_common()]
        return (
            Panel("Rows", "table", rows),
            Panel("Rows left out", "table", misfits),
            *LAYERS.panels(counts)[1:],
        )

    def places(self) -> Mapping[str, str | Path]:
        file = self._settings.pools_file.with_name(snapshot.FILE)
        return {"tables": hidden(self._target.name), "what is left": file}


def _lost(settings: Settings, worked: int) -> StateDamaged:
    return StateDamaged(
        f"{hidden(settings.layers.database)} has no tables of this task "
        f"({', '.join(task_in(settings).tables)}), though {worked:,} requests are finished: bring "
        "back the database that its rows went into, or their old names into the task, or begin "
        "anew with --fresh"
    )


def opened(settings: Settings, arguments: Namespace, stop: Event) -> LayersJob:
    """With tables that are found to be its own."""
    database, task = database_in(settings), task_in(settings)
    place = database.url, settings.state, database.password_file
    tables = tables_of(task.tables, f"{task.place}: tables")
    past = Past.of(settings.pools_file)
    if (worked := past.counts.get("finished", 0)) and not is_there(database, settings):
        raise _lost(settings, worked)
    with ExitStack() as stack:
        target = stack.enter_context(closing(open_target(*place)))
        job = LayersJob(settings, arguments, target, tables, past, stop)
        job.close_too(stack.pop_all())
    return job
