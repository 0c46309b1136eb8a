"""The job `pages`: crawl sites from a list of seeds, politely and completely, into an archive and a
table. Its stages are `download`, `analyse` and `control`.
"""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ..archive.origin import Origin
from ..archive.store import Archive
from ..base.text import one_line
from ..documents.address import DropParameters, lane_of
from ..documents.scope import Scope
from ..documents.traps import HostTraps
from ..engine.description import Metric
from ..engine.harvest import Harvest
from ..engine.job import Counted, Job
from ..engine.panel import Panel
from ..engine.pools import Pools
from ..engine.stage import Stage, Task
from ..errors import HarvestError, NothingHarvested
from ..journal.rests import Resting
from ..pages.analyse import Analyse
from ..pages.archived import Archived, write_index
from ..pages.brought import Brought
from ..pages.control import Control
from ..pages.extract import extract_named
from ..pages.found import found_of
from ..pages.keeper import Keeper
from ..pages.notes import is_requisite
from ..pages.open_table import open_table, place_of
from ..pages.own_headers import OwnHeaders
from ..pages.page import FETCHED, Child, Failed, HostNews
from ..pages.robots_rules import RobotsRules
from ..pages.store import Store
from ..pages.table import PageTable
from ..pages.visit import Visitor
from ..settings import Settings
from .pages_asking import crawled_hosts, crawling_client, download_of, dropped_by, robots_of
from .pages_crawl import Crawl
from .pages_description import PAGES
from .pages_results import crawl_sheet, panels
from .pages_watch import Watch
from .silent_hosts import left_alone, said_of

if TYPE_CHECKING:
    from ..cluster.abroad import Abroad  # it is for those who have nodes

logger = logging.getLogger(__name__)


class PagesJob(Job):
    description = PAGES

    def __init__(
        self,
        settings: Settings,
        crawl: Crawl,
        table: PageTable,
        drop: DropParameters,
        stop: Event,
    ) -> None:
        """`crawl` is what it knows of itself: its id, its seeds, its depth."""
        pages = settings.pages
        self._settings, self._crawl, self._table, self._drop = settings, crawl, table, drop
        self._opened, self._stop = ExitStack(), stop
        self._pools: Pools | None = None  # until it is open
        self._sheet: Path | None = None  # until it is over
        origin = Origin(crawl.id, settings.http.contact, pages.robots)
        size = int(pages.archive_file_mb * 1e6)
        self._archive = Archive(pages.archive, origin, max_file_bytes=size)
        self._hosts = crawled_hosts(settings)
        self.client = crawling_client(settings, crawl.hosts, stop)
        scope = Scope.of(pages.scope, crawl.seeds, pages.include, pages.exclude)
        self._traps = traps = HostTraps(pages.limit_per_host)
        urls = [link.url for link in crawl.links]
        self._control = Control(table, scope, urls, traps, pages.depth, pages.nofollow)
        archived = Archived(table, pages.archive, pages.max_bytes)
        extract = extract_named(pages.extract)
        most = pages.analyse_max_bytes
        analyse = Analyse(archived, drop, most, pages.words, extract, pages.requisites)
        own = OwnHeaders(pages.headers_file, pages.cookies, crawl.hosts)
        visitor = Visitor(self.client, self._hosts, own, pages.timeout_s)
        rules = RobotsRules(table, self._hosts)
        self._robots = robots_of(settings, visitor, Keeper(table), rules, drop)
        ways = analyse, self._robots, traps, drop, crawl.plain
        download = download_of(settings, visitor, table, *ways)
        self.workers = {"download": download, "analyse": analyse, "control": self._control}
        self.stages = [self._with_gate(stage) for stage in PAGES.stages(settings)]
        self.seeds = list(found_of(crawl.links))
        self.task_timeout_s, self.scan_s = pages.task_timeout_s, pages.scan_s
        self._store = Store(self._archive, table)

    @property
    def store(self) -> Store:
        return self._store

    def _with_gate(self, stage: Stage) -> Stage:
        return replace(stage, gate=self._hosts) if stage.lane is not None else stage

    @property
    def harvest_id(self) -> str:
        return self._crawl.id

    def abroad(self) -> Abroad:
        from .pages_abroad import abroad_of

        ways = self._settings, self._crawl, self._table, self._drop
        return abroad_of(self, *ways, self._hosts, self._traps)

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "world": self._crawl.world}

    def choices(self) -> dict[str, str]:
        pages = self._settings.pages
        return {"scope": pages.scope, "database": pages.database}

    def close_too(self, opened: ExitStack) -> None:
        """What was opened for this job, and ends after it."""
        self._opened = opened

    # --- from the start to the end ---------------------------------------------------------

    def open(self, harvest: Harvest) -> None:
        self._pools = harvest.pools
        self._crawl.claim(harvest.pools, self._table, self._archive)
        self.has_claimed = True
        self._crawl.begin(harvest.pools, self.stages, self._table, self._archive, self._control)
        if self._robots is not None:
            sitemaps = self._robots.sitemaps_of(self._control.scope.seeds)
            self._table.admit([Child(link.url, link.address) for link in sitemaps])
            self.seeds = [*self.seeds, *found_of(sitemaps)]
        if self._traps.has_limit:
            self._traps.remember(self._table.counts().domains)
        self.guard = Watch(harvest, self._hosts, self._archive, self._settings.pages)
        self._open_transport()

    def _open_transport(self) -> None:
        """If full files do not stay here alone. What a crash interrupted is completed first."""
        if self._settings.transport.host:
            from .shipping import archive_transport_of  # it takes paramiko with it

            ways = self._table, self._crawl.id, self._stop, lambda: self._store.closed_bytes
            self.transport = archive_transport_of(self._settings, *ways)
            self.transport.complete()

    def finish(self, harvest: Harvest) -> None:
        """A crawl that came to its end is shipped whole, and what comes later goes into new files;
        one that was stopped, by a limit too, goes on with those it has."""
        self._table.count_words()
        self._archive.sync(durable=True)
        if self.transport is not None and not (harvest.was_stopped or harvest.has_work()):
            self._store.close_files()
        write_index(self._table, self._settings.pages.archive)
        try:
            self._sheet = crawl_sheet(self._table, self._settings)
        except HarvestError as error:
            logger.warning("there is no page to look at: %s", error)

    def problem(self, harvest: Harvest) -> HarvestError | None:
        counts = self._table.counts()
        if harvest.was_stopped or counts.states.get(FETCHED):
            return None
        why = one_line(next(iter(counts.reasons), "nothing was left to ask for"))
        return NothingHarvested(
            f"no page was fetched ({why}). `python history.py --job pages --failed` lists all; "
            "once that is mended, `python main.py retry --job pages` and start again"
        )

    def close(self) -> None:
        self.client.close()
        self._archive.close()
        self._opened.close()

    def failed(self, task: Task, reason: str) -> object:
        news = HostNews(name=lane_of(task.uri), failures=1)
        page = [] if is_requisite(task.note) else [Failed(url=task.uri, remark=reason)]
        return Brought([*page, news])

    # --- how far it is ---------------------------------------------------------------------

    def counted(self) -> Sequence[Counted]:
        return (Counted("pages", self._store.stored, "archived"),)

    def waits(self) -> str:
        return said_of(self._hosts.resting())

    def allowed(self) -> Mapping[str, str]:
        return {"": self._hosts.spoken, **self.client.allowed}

    def resting(self) -> Sequence[Resting]:
        return left_alone(self._hosts)

    def metrics(self) -> Mapping[str, Metric]:
        size = sum(self._table.ends_of_files().values())
        return {"archive_bytes": Metric("Bytes of the WARC files", size)}

    def hosts(self) -> Mapping[str, int]:
        return self._hosts.states()

    def summary(self) -> Sequence[Panel]:
        counts = self._pools.tally() if self._pools is not None else {}
        return (*panels(self._table), *PAGES.panels(counts))

    def places(self) -> Mapping[str, str | Path]:
        pages = self._settings.pages
        table = place_of(pages.database, self._settings.state)
        found: dict[str, str | Path] = {"archive": pages.archive, "page table": table}
        return found if self._sheet is None else {**found, "to look at": self._sheet}


def opened(settings: Settings, arguments: Namespace, stop: Event) -> PagesJob:
    """With a table and an archive that are found to be its own."""
    pages, drop = settings.pages, dropped_by(settings.pages.drop_parameters)
    crawl = Crawl.of(settings, arguments, drop)
    with ExitStack() as stack:
        place = pages.database, settings.state, pages.password_file, pages.paths_kept
        table = stack.enter_context(closing(open_table(*place)))
        crawl.check_table(table)
        job = PagesJob(settings, crawl, table, drop, stop)
        job.close_too(stack.pop_all())
    return job
