"""The job `structure`: raw documents by their parsers into JSON, and by a mapping into tables. Its
stages are `dispatch`, `parse` and `export`."""

from __future__ import annotations

import logging
import time
import uuid
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ..engine.description import Metric
from ..engine.harvest import Harvest
from ..engine.job import Counted, Job
from ..engine.panel import Panel
from ..engine.pools import Pools
from ..engine.stage import Found, Stage, Task, Worker
from ..errors import HarvestError, StateDamaged, Unavailable, UsageError
from ..settings import Settings
from ..structure.ahead import Ahead
from ..structure.declared import declared_structure
from ..structure.dispatch import stretches_of
from ..structure.documents import FILE, Documents, create_documents
from ..structure.hosts import Hosts
from ..structure.mapping import read_mapping
from ..structure.queues import uri_of
from ..structure.registry import Parsers
from ..structure.sandbox import Sandbox, sandbox_here
from ..structure.sources.open import Opener, open_source
from ..structure.sources.source import Source
from ..structure.status import create_view
from ..structure.store import Store
from .named_tables import DATABASE
from .ownership import ID, Past
from .structure_again import Again
from .structure_declared import limits_of, structure_in
from .structure_description import STRUCTURE
from .structure_statuses import nothing_done
from .structure_tables import Tables, opened_tables
from .structure_workers import Workers

if TYPE_CHECKING:
    from ..cluster.abroad import Abroad

logger = logging.getLogger(__name__)

AWAY_S = 60.0  # until what is not ready is asked again
USUAL_EVERY_S = 300.0  # with --watch, where the structure says nothing
LIFE = ("dispatch", "parse", "export")


class StructureJob(Job):
    description = STRUCTURE

    def __init__(
        self,
        settings: Settings,
        arguments: Namespace,
        sources: Mapping[str, Source],
        documents: Documents,
        hosts: Hosts,
        tables: Tables | None,
        past: Past,
    ) -> None:
        self._settings, self._arguments = settings, arguments
        self._structure = structure = structure_in(settings)
        self._sources, self._documents, self._tables = sources, documents, tables
        self._opened = ExitStack()
        self._opened_pools: list[Pools] = []  # one, once it is open
        self._is_unready = False
        self._parsers = Parsers(structure.rules, structure.folder)
        self._id = past.harvest or uuid.uuid4().hex
        self.stages = list(STRUCTURE.stages(settings))
        self._stage: dict[str, Stage] = {stage.name: stage for stage in self.stages}
        self.seeds = [Found("dispatch", list(sources), depth=0)]
        self.task_timeout_s = settings.clock.task_timeout_s
        self.scan_s = settings.clock.scan_s
        self._rowing = None if tables is None else tables.rowing(settings, documents)
        self._store = Store(documents, self._reopen, self._rowing)
        ways = settings, sources, documents, self._parsers, self._pools
        self._workers = Workers(*ways)
        self._then = "finished" if tables is None else "to_export"  # of what is parsed
        self.workers = self._wanted_workers(hosts)

    @property
    def store(self) -> Store:
        return self._store

    def _pools(self) -> Pools:
        (pools,) = self._opened_pools
        return pools

    def _wanted_workers(self, hosts: Hosts) -> dict[str, Worker]:
        only, tables = self._arguments.only_stage, self._tables
        workers: dict[str, Worker] = {
            "dispatch": self._workers.dispatch(only is not None),
            "parse": self._workers.parse(hosts, self._then),
        }
        if tables is not None:
            leased = Ahead(self._documents, lambda: self._pools().tasks(self._stage["export"]))
            workers["export"] = tables.worker(self._settings, self._documents, leased)
        if only is None:
            return workers
        if only not in workers:
            raise UsageError(f"{self._structure.file} has no export: write export = FILE.json")
        return {only: workers[only]}

    def abroad(self) -> Abroad:
        from .structure_abroad import abroad_of

        if "parse" not in self.workers:
            raise UsageError("nodes do nothing but parse: start it without --cluster")
        ways = self._sources, self._parsers
        return abroad_of(self._id, self._structure.name, self._then, *ways)

    def failed(self, task: Task, reason: str) -> object:
        return self._workers.failed(task, reason)

    # --- from the start to the end ---------------------------------------------------------

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "world": f"the structure {self._structure.name}"}

    def choices(self) -> dict[str, str]:
        return {} if self._tables is None else {DATABASE: self._tables.place}

    def close_too(self, opened: ExitStack) -> None:
        self._opened.callback(opened.close)

    def open(self, harvest: Harvest) -> None:
        pools = harvest.pools
        self._opened_pools.append(pools)
        pools.remember({ID: self._id, "export": str(self._structure.export or "")})
        create_view(self._settings.pools_file)
        for uri in self._sources:
            self._documents.doubt_after(uri, pools.tallied(stretches_of(uri)))
        if self._tables is not None:
            self._tables.make(pools, self._id, self._structure.name)
        self._begin_round(pools)

    def _begin_round(self, pools: Pools) -> None:
        """What is looked at again. A crash amid this does no harm: it is done at the next start."""
        if "dispatch" in self.workers:
            for pool in ("finished", "failed"):
                pools.reopen_named(self._stage["dispatch"], list(self._sources), pool)
        again = Again(self._structure, self._parsers, self._documents, pools)
        if "parse" in self.workers:
            self._parse_again(again)
        if self._arguments.only_stage == "export" and self._arguments.again:
            stage = self._stage["export"]
            number = again.all_of(stage, ("finished",)) + pools.revive(stage=stage)
            logger.info("%d documents are exported again", number)
        self._arguments.again = False  # the next round has its own

    def _parse_again(self, again: Again) -> None:
        parse, given = self._stage["parse"], self._arguments
        number = again.by_policy(parse)
        if given.again and given.sources is None:
            number += again.all_of(parse)
        elif given.again:
            number += again.of_sources(parse, given.sources)
        if number:
            logger.info("%d documents are parsed again", number)

    def _reopen(self, stage: str, hashes: Sequence[str]) -> int:
        uris = [uri_of(self._structure.name, each) for each in hashes]
        return self._pools().reopen_named(self._stage[stage], uris) if uris else 0

    def finish(self, harvest: Harvest) -> None:
        if self._tables is not None and self._rowing is not None:
            self._tables.tell(self._rowing, harvest.pools.tally())

    def problem(self, harvest: Harvest) -> HarvestError | None:
        is_whole = not (self._arguments.watch or self._arguments.only_stage)
        return nothing_done(self._settings) if is_whole and not harvest.was_stopped else None

    # --- again and again -------------------------------------------------------------------

    def next_round(self, harvest: Harvest) -> float | None:
        if not self._arguments.watch or harvest.was_stopped:
            return None
        if self._is_unready:
            return time.time() + AWAY_S
        if not self._structure.at:
            return time.time() + (self._structure.every or USUAL_EVERY_S)
        from ..base.crontab import parse  # it takes a scheduler with it

        now, where = datetime.now(UTC), f"{self._structure.file}: at"
        moment = parse(self._structure.at, where).get_next_fire_time(now, now)
        return None if moment is None else moment.timestamp()

    def is_ready(self) -> bool:
        """Is the structure, perhaps edited meanwhile, well, and does the database answer?"""
        try:
            file, limits = self._structure.file, limits_of(self._settings.structure)
            export = declared_structure(file, limits).export
            if export is not None:
                read_mapping(export)
            if self._tables is not None:
                self._tables.target.owner(self._tables.file.tables)
        except (UsageError, Unavailable) as error:
            logger.warning("the next round waits: %s", error)
            self._is_unready = True
            return False
        self._is_unready = False
        return True

    def close(self) -> None:
        self._opened.close()

    # --- how far it is ---------------------------------------------------------------------

    @property
    def _rows(self) -> int:
        return self._rowing.rows if self._rowing is not None else 0

    def counted(self) -> Sequence[Counted]:
        return (Counted("rows", self._rows, "stored"),) if self._rowing is not None else ()

    def metrics(self) -> Mapping[str, Metric]:
        return {"rows_stored_total": Metric("Rows stored by this run", float(self._rows))}

    def summary(self) -> Sequence[Panel]:
        counts = self._pools().tally() if self._opened_pools else {}
        rows = [("stored by this run", self._rows)] if self._rowing is not None else []
        return (*STRUCTURE.panels(counts), Panel("Rows", "table", rows))

    def places(self) -> Mapping[str, str | Path]:
        tables = {} if self._tables is None else {"tables": self._tables.target.name}
        return {**tables, "documents": self._settings.state / FILE}


def opened(settings: Settings, arguments: Namespace, stop: Event) -> StructureJob:
    """With documents and tables that are found to be its own."""
    settings = _read_anew(settings)
    past = Past.of(settings.pools_file if arguments.resume is None else arguments.resume)
    with ExitStack() as stack:
        sources = _sources(settings, stack)
        _require_documents(settings, past)
        file, name = settings.state / FILE, structure_in(settings).name
        documents = stack.enter_context(closing(Documents(file, name)))
        if (tables := opened_tables(settings, arguments, past)) is not None:
            stack.callback(tables.target.close)
        hosts = stack.enter_context(
            closing(Hosts(limits_of(settings.structure), _sandbox(arguments)))
        )
        job = StructureJob(settings, arguments, sources, documents, hosts, tables, past)
        job.close_too(stack.pop_all())
    return job


def _read_anew(settings: Settings) -> Settings:
    """As the structure is now: it may have been edited between two rounds."""
    loaded = declared_structure(structure_in(settings).file, limits_of(settings.structure))
    return replace(settings, structure=replace(settings.structure, loaded=loaded))


def _sources(settings: Settings, stack: ExitStack) -> dict[str, Source]:
    structure = structure_in(settings)
    most = int(settings.structure.max_document_mb * 1e6)
    found: dict[str, Source] = {}
    for said in structure.sources:
        source = open_source(said, structure.folder, most, partial(_others, settings))
        stack.callback(source.close)
        found[source.uri] = source
    return found


def _others(settings: Settings) -> Mapping[str, Opener]:
    from .structure_sources import others_of  # it takes the rooms of other jobs with it

    return others_of(settings)


def _sandbox(arguments: Namespace) -> Sandbox:
    """Tried where somebody parses, once in a process."""
    return _tried_sandbox() if arguments.only_stage in (None, "parse") else Sandbox()


_tried_sandbox = cache(sandbox_here)


def _require_documents(settings: Settings, past: Past) -> None:
    """A store that is lost is never made anew."""
    file = settings.state / FILE
    if file.exists():
        return
    if known := max(past.counts.get(f"done_{stage}", 0) for stage in LIFE[1:]):
        raise StateDamaged(
            f"{file} is gone, though {known:,} documents were parsed: bring it back, or begin anew "
            "with --fresh"
        )
    create_documents(file)
