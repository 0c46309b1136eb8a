"""The job `structure`: raw documents of a source by parsers into JSON, and by a mapping into tables.
Its stages are `dispatch`, `parse` and `export`."""

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

from ..base.credentials import hidden
from ..engine.harvest import Harvest
from ..engine.job import Counted, Job, Metric, Panel
from ..engine.pools import Pools
from ..engine.stage import Done, Found, Stage, Task, Worker
from ..errors import ComeBack, HarvestError, StateDamaged, Unavailable, UsageError
from ..settings import Settings
from ..structure.declared import declared_structure
from ..structure.dispatch import Dispatch, stretches_of
from ..structure.documents import FILE, Documents, create_documents
from ..structure.export import EXPORTED, UNMATCHED, Export, hash_of
from ..structure.hosts import Hosts
from ..structure.mapping import Export as ExportFile
from ..structure.mapping import never_matched, read_mapping
from ..structure.parse import Parse
from ..structure.raw import raw_of
from ..structure.records import ExportLine, Failure
from ..structure.registry import Parsers
from ..structure.sources.open import open_source
from ..structure.sources.source import Source
from ..structure.status import CLASSES, create_view
from ..structure.store import FAILED, Rowing, Store
from ..structure.walk import Walker
from ..tables.target import Target
from .ownership import ID, Past
from .structure_again import Again
from .structure_declared import export_in, limits_of, place_in, structure_in, tables_set_aside
from .structure_description import STRUCTURE
from .structure_stored import DATABASE, TABLES

logger = logging.getLogger(__name__)

AWAY_S = 60.0  # until a database that does not answer is asked again
USUAL_EVERY_S = 300.0  # with --watch, where the structure says nothing


class StructureJob(Job):
    description = STRUCTURE

    def __init__(
        self,
        settings: Settings,
        arguments: Namespace,
        sources: Mapping[str, Source],
        documents: Documents,
        hosts: Hosts,
        target: Target | None,
        export: ExportFile | None,
        past: Past,
    ) -> None:
        self._settings, self._arguments, self._past = settings, arguments, past
        self._structure = structure = structure_in(settings)
        self._sources, self._documents, self._hosts = sources, documents, hosts
        self._target, self._export = target, export
        self._opened = ExitStack()
        self._pools: Pools | None = None  # until it is open
        self._is_unready = False
        self._scripts: dict[int, str] = {}  # by token, the hash of the script that is at work
        self._parsers = Parsers(structure.rules, structure.folder)
        self._id = past.harvest or uuid.uuid4().hex
        self.stages = list(STRUCTURE.stages(settings))
        self._stage: dict[str, Stage] = {stage.name: stage for stage in self.stages}
        self.seeds = [Found("dispatch", list(sources), depth=0)]
        self.task_timeout_s = settings.clock.task_timeout_s
        self.scan_s = settings.clock.scan_s
        self._rowing = self._make_rowing()
        self._store = Store(documents, self._reopen, self._rowing)
        self.workers = self._wanted_workers()

    @property
    def store(self) -> Store:
        return self._store

    def _make_rowing(self) -> Rowing | None:
        if self._target is None or self._export is None:
            return None
        structure, tables = self._structure, [*self._export.tables]
        ways = structure.document, structure.too_long
        return Rowing(self._documents, self._target, tables, *ways)

    # --- who works ---------------------------------------------------------------------------

    def _wanted_workers(self) -> dict[str, Worker]:
        only = self._arguments.only_stage
        workers: dict[str, Worker] = {"dispatch": self._dispatch(), "parse": self._parse_worker()}
        if (exporting := self._export_worker()) is not None:
            workers["export"] = exporting
        if only is None:
            return workers
        if only not in workers:
            raise UsageError(f"{self._structure.file} has no export: write export = FILE.json")
        return {only: workers[only]}

    def _dispatch(self) -> Worker:
        structure = self._structure
        dispatch = Dispatch(
            structure.name,
            self._sources,
            self._documents,
            self._parsers,
            waiting=lambda: self._open_pools.ranks("to_parse"),
            tallied=lambda name: self._open_pools.tallied(name),
            remembered=lambda: self._open_pools.remembered(),
            most_waiting=self._settings.structure.most_waiting,
            priority=structure.priority,
        )
        if self._arguments.only_stage is None:
            return dispatch

        def dispatched(task: Task) -> Done:
            """Nobody parses meanwhile: if there is no more room it is over."""
            try:
                return dispatch(task)
            except ComeBack:
                return Done("finished")

        return dispatched

    def _parse_worker(self) -> Worker:
        to = "finished" if self._export is None else "to_export"
        parse = Parse(self._structure.name, self._sources, self._parsers, self._hosts, to)

        def parsed(task: Task) -> Done:
            """An edit of the script while it works is seen as one: its hash is read before."""
            self._scripts[task.token] = self._script_now(task)[1]
            done = parse(task)
            del self._scripts[task.token]
            return replace(done, tally={**done.tally, f"structure:{CLASSES[task.priority]}": 1})

        return parsed

    def _export_worker(self) -> Worker | None:
        if self._export is None or self._target is None:
            return None
        structure, target, by_key = self._structure, self._target, self._structure.document == "key"
        walker = Walker(self._export, structure.outer, wants_keys=by_key)
        judge = None
        if structure.strict:
            judge = lambda extract: target.problems_of(extract, structure.too_long)  # noqa: E731
        return Export(self._documents, walker, by_key, [*self._export.tables], judge)

    def _script_now(self, task: Task) -> tuple[str, str]:
        """The parser of a document, and the hash of its script; "" for what nobody can say."""
        raw = raw_of(task.note or "[]")
        rule = self._parsers.rule_for(raw.source, raw.type)
        if rule is None:
            return raw.parser, ""
        try:
            return rule.parser, self._parsers.script_of(rule).hash
        except Unavailable:
            return rule.parser, ""

    def failed(self, task: Task, reason: str) -> object:
        hash_, now = hash_of(task.uri), time.time()
        if task.stage.name == "parse":
            parser, script = self._script_now(task)
            return Failure(hash_, parser, self._scripts.pop(task.token, script), now)
        if task.stage.name == "export":
            return ExportLine(hash_, now, FAILED, reason=reason)
        return None

    # --- from the start to the end ---------------------------------------------------------

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "world": f"the structure {self._structure.name}"}

    def choices(self) -> dict[str, str]:
        return {} if self._target is None else {DATABASE: hidden(self._target.name)}

    def close_too(self, opened: ExitStack) -> None:
        self._opened.callback(opened.close)

    @property
    def _open_pools(self) -> Pools:
        assert self._pools is not None, "nothing is handed out before"
        return self._pools

    def open(self, harvest: Harvest) -> None:
        pools = self._pools = harvest.pools
        pools.remember({ID: self._id, "export": str(self._structure.export or "")})
        create_view(self._settings.pools_file)
        for uri in self._sources:
            self._documents.doubt_after(uri, pools.tallied(stretches_of(uri)))
        if self._export is not None:
            self._make_tables(self._export)
        self._begin_round()

    def _make_tables(self, export: ExportFile) -> None:
        """They may be those of several structures; the first one's name stays in them."""
        assert self._target is not None
        for warning in export.warnings:
            logger.warning("%s", warning)
        is_new = self._target.owner(export.tables) is None
        worked = self._past.counts.get(EXPORTED, 0)
        if is_new and worked and not self._arguments.again and not self._arguments.archive:
            raise _lost(self._target.name, export, worked)
        for sentence in self._target.prepare(export.tables):
            logger.info("%s", sentence)
        if is_new:
            self._target.claim(self._id, export.tables)
        names = "\n".join(export.tables)
        self._open_pools.remember({TABLES: names, DATABASE: hidden(self._target.name)})

    def _begin_round(self) -> None:
        """What is looked at again. A crash amid this does no harm: it is done at the next start."""
        pools, stage = self._open_pools, self._stage
        if "dispatch" in self.workers:
            for pool in ("finished", "failed"):
                pools.reopen_named(stage["dispatch"], list(self._sources), pool)
        again = Again(self._structure, self._parsers, self._documents, pools)
        if "parse" in self.workers:
            number = again.by_policy(stage["parse"])
            if self._arguments.only_stage == "parse" and self._arguments.again:
                number += self._parse_again(again)
            if number:
                logger.info("%d documents are parsed again", number)
        if self._arguments.only_stage == "export" and self._arguments.again:
            number = again.all_of(stage["export"], ("finished",))
            number += pools.revive(stage=stage["export"])
            logger.info("%d documents are exported again", number)
        self._arguments.again = False  # the next round has its own

    def _parse_again(self, again: Again) -> int:
        parse, pattern = self._stage["parse"], self._arguments.sources
        return again.all_of(parse) if pattern is None else again.of_sources(parse, pattern)

    def _reopen(self, stage: str, hashes: Sequence[str]) -> int:
        uris = [f"{self._structure.name} {each}" for each in hashes]
        return self._open_pools.reopen_named(self._stage[stage], uris) if uris else 0

    def finish(self, harvest: Harvest) -> None:
        rowing = self._rowing
        for change in dict.fromkeys(rowing.changes if rowing else ()):
            logger.warning("%s", change)
        for table, number in (rowing.problems.items() if rowing else ()):
            logger.warning("%s: %d values did not fit: see the table _problems", table, number)
        if self._export is not None:
            tally = harvest.pools.tally()
            unmatched = {n.removeprefix(UNMATCHED): c for n, c in tally.items()}
            for warning in never_matched(self._export, unmatched, tally.get(EXPORTED, 0)):
                logger.warning("%s", warning)

    # --- again and again -------------------------------------------------------------------

    def next_round(self, harvest: Harvest) -> float | None:
        if not self._arguments.watch or harvest.was_stopped:
            return None
        if self._is_unready:
            return time.time() + AWAY_S
        structure = self._structure
        if structure.at:
            from ..base.crontab import parse  # it takes a scheduler with it

            slots = parse(structure.at, f"{structure.file}: at")
            now = datetime.now(UTC)
            moment = slots.get_next_fire_time(now, now)
            return None if moment is None else moment.timestamp()
        return time.time() + (structure.every or USUAL_EVERY_S)

    def is_ready(self) -> bool:
        """Is the structure, perhaps edited meanwhile, well, and does the database answer?"""
        try:
            file = self._structure.file
            structure = declared_structure(file, limits_of(self._settings.structure))
            if structure.export is not None:
                read_mapping(structure.export)
            if self._target is not None and self._export is not None:
                self._target.owner(self._export.tables)
        except (UsageError, Unavailable) as error:
            logger.warning("the next round waits: %s", error)
            self._is_unready = True
            return False
        self._is_unready = False
        return True

    def close(self) -> None:
        self._opened.close()

    # --- how far it is ---------------------------------------------------------------------

    def counted(self) -> Sequence[Counted]:
        return (Counted("rows", self._rowing.rows, "stored"),) if self._rowing else ()

    def metrics(self) -> Mapping[str, Metric]:
        if self._rowing is None:
            return {}
        return {"rows_stored_total": Metric("Rows stored by this run", float(self._rowing.rows))}

    def summary(self) -> Sequence[Panel]:
        counts = self._pools.tally() if self._pools is not None else {}
        rows = [("rows stored", self._rowing.rows)] if self._rowing else []
        return (*STRUCTURE.panels(counts), Panel("Export", "table", rows))

    def places(self) -> Mapping[str, str | Path]:
        documents = {"documents": self._settings.state / FILE}
        return documents if self._target is None else {
            "tables": hidden(self._target.name),
            **documents,
        }


def _lost(name: str, export: ExportFile, worked: int) -> StateDamaged:
    return StateDamaged(
        f"{hidden(name)} has no tables of this structure ({', '.join(export.tables)}), though "
        f"{worked:,} documents were exported: bring back the database that their rows went into, or "
        "fill this one with `structure export NAME --again`, or begin anew with --fresh"
    )


def opened(settings: Settings, arguments: Namespace, stop: Event) -> StructureJob:
    """With documents and tables that are found to be its own."""
    settings = _read_anew(settings)
    structure, export = structure_in(settings), export_in(settings)
    past = Past.of(settings.pools_file if arguments.resume is None else arguments.resume)
    with ExitStack() as stack:
        sources = _sources(settings, stack)
        _require_documents(settings, past)
        documents = stack.enter_context(closing(Documents(settings.state / FILE, structure.name)))
        target = _target(settings, arguments, export, past)
        if target is not None:
            stack.callback(target.close)
        hosts = stack.enter_context(closing(Hosts(limits_of(settings.structure))))
        job = StructureJob(
            settings, arguments, sources, documents, hosts, target, export, past
        )
        job.close_too(stack.pop_all())
    return job


def _read_anew(settings: Settings) -> Settings:
    """As the structure is now: it may have been edited between two rounds."""
    loaded = declared_structure(structure_in(settings).file, limits_of(settings.structure))
    return replace(settings, structure=replace(settings.structure, loaded=loaded))


def _sources(settings: Settings, stack: ExitStack) -> dict[str, Source]:
    from .structure_sources import others_of

    structure, found = structure_in(settings), {}
    most = int(settings.structure.max_document_mb * 1e6)
    for said in structure.sources:
        source = open_source(said, structure.folder, most, others_of(settings))
        stack.callback(source.close)
        found[source.uri] = source
    return found


def _require_documents(settings: Settings, past: Past) -> None:
    """A store that is lost is never made anew."""
    file = settings.state / FILE
    if file.exists():
        return
    if known := sum(past.counts.get(f"done_{stage}", 0) for stage in ("parse", "export")):
        raise StateDamaged(
            f"{file} is gone, though {known:,} documents were parsed: bring it back, or begin anew "
            "with --fresh"
        )
    create_documents(file)


def _target(
    settings: Settings, arguments: Namespace, export: ExportFile | None, past: Past
) -> Target | None:
    if export is None:
        return None
    place = place_in(settings, export)
    if (worked := past.counts.get(EXPORTED, 0)) and not place.is_there() and not arguments.again:
        raise _lost(place.url, export, worked)
    if arguments.archive:
        for sentence in tables_set_aside(settings, arguments.archive):
            logger.info("%s", sentence)
        arguments.archive = ()
    return place.opened()
