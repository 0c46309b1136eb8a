"""One run of a harvest, from the lock of its state folder to its summary.

The order matters. What an older harvest left is checked before anything is made; what a start makes
is taken away again if it fails, until the first tick: from then on there is something to keep.
"""

from __future__ import annotations

import gc
import logging
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from ..add import Counts, Graph
from ..assist.assistant import Assist
from ..assist.run_log import Journal
from ..base import log
from ..base.say import say
from ..conceptnet.graph import open_graph
from ..engine.harvest import Harvest
from ..errors import HarvestError, NothingHarvested, StopHarvest, Unavailable
from ..jobs.conceptnet import ConceptnetJob
from ..jobs.outcome import begin_to_count, nothing_kept
from ..jobs.ownership import Belongings
from ..journal.reader import Look, look
from ..journal.snapshots import remove_unfinished, restore
from ..reports.progress import Progress, bar, summary
from ..sample import world
from ..settings import Settings
from .again import REAL, SAMPLE, facts_of
from .beginning import Beginning
from .fresh import set_old_aside
from .harvest import Options
from .sheet import latest_sheets

if TYPE_CHECKING:
    from ..transport import Transport

logger = logging.getLogger(__name__)

GIVEN_UP = (
    "the file was given up: `python history.py --failed` tells why; `python main.py retry`, then "
    "start again"
)


class Outcome(NamedTuple):
    """What came of a run that ended."""

    graph: Counts | None
    by_type: dict[str, int]
    page: Path | None  # to look at
    error: HarvestError | None  # with which the program ends, though the harvest did end


def harvest(settings: Settings, options: Options) -> int:
    """Nobody else works in this state folder now."""
    if options.fresh:
        set_old_aside(settings, options)
    with Beginning(settings) as beginning:
        level = "debug" if options.verbose else settings.log.level
        log.set_up(
            settings.state / "log", level, settings.log.json or options.log_json, options.quiet
        )
        with Journal(settings, options.typed) as journal:
            return work(settings, options, journal, beginning)


def work(settings: Settings, options: Options, journal: Journal, beginning: Beginning) -> int:
    remove_unfinished(settings.pools_file)
    belongings = Belongings(settings, options.resume)
    with ExitStack() as stack:
        session = Session(settings, options, belongings, stack)
        outcome = session.run(beginning)
        seen = look(settings.pools_file)
        report = session.report(seen, outcome)
    counts = " ".join(f"{name}={count}" for name, count in seen.pools.items())
    verdict = session.harvest.verdict
    journal.verdict = f"{verdict}; {counts}"
    if not options.quiet:
        is_empty = isinstance(outcome.error, NothingHarvested)
        say(report if is_empty else f"{report}\n{verdict}")
    if outcome.error is not None:
        raise outcome.error
    return 0


class Session:
    """Everything a run needs, opened in this order; `stack` closes it."""

    def __init__(
        self, settings: Settings, options: Options, belongings: Belongings, stack: ExitStack
    ) -> None:
        self._options, self._belongings, self._stop = options, belongings, Event()
        self._settings = in_sample_world(settings, stack) if options.sample else settings
        self._graph = self._opened_graph(stack)
        if options.resume:
            restore(options.resume, settings.pools_file)
        self._job = self._opened_job(stack)
        self.harvest = self._opened_harvest(stack)
        self._transport = self._opened_transport()
        self._job.open(self.harvest.pools)
        gc.freeze()  # modules live as long as we do: no need to look through them for garbage
        self._progress = self._shown()

    def _opened_graph(self, stack: ExitStack) -> Graph:
        url, password = self._settings.graph_url, self._settings.neo4j.password
        graph = stack.enter_context(closing(open_graph(url, password)))
        stack.enter_context(graph.members.at_work(self._belongings.harvest))
        self._belongings.check(graph)
        return graph

    def _opened_job(self, stack: ExitStack) -> ConceptnetJob:
        options = self._options
        name = SAMPLE if options.sample else REAL
        job = ConceptnetJob(
            self._settings, self._graph, self._stop, name, options.all, options.quiet
        )
        return stack.enter_context(closing(job))

    def _opened_harvest(self, stack: ExitStack) -> Harvest:
        settings = self._settings
        file, attempts, grace = settings.pools_file, settings.attempts, settings.stop_grace_s
        harvest = stack.enter_context(
            closing(Harvest(self._job, file, self._stop, attempts, grace))
        )
        harvest.listen_for_pauses()
        begin_to_count(harvest.pools)
        self._belongings.take(harvest.pools, self._job.ledger)
        limit = str(settings.limit or "")
        harvest.pools.remember({"limit": limit, **facts_of(self._options.typed)})
        return harvest

    def _opened_transport(self) -> Transport | None:
        """None if media stay here. What a crash interrupted is completed before new media come."""
        if not self._settings.transport.host or not self._settings.extend.is_wanted:
            return None
        from .batches import transport_of  # it takes paramiko with it

        ledger, quiet_point = self._job.ledger, self.harvest.at_quiet_point
        transport = transport_of(self._settings, ledger, quiet_point, self._stop)
        transport.complete()
        return transport

    def _shown(self) -> Progress:
        job, harvest = self._job, self.harvest
        stages = [stage for stage in job.stages if stage.name in job.workers]
        file = job.streamer.lines if job.streamer else None
        return Progress(
            *(harvest.pools, stages, job.store, job.client, self._options.quiet, file),
            is_paused=lambda: harvest.paused_since is not None,
        )

    # --- its course --------------------------------------------------------------------------

    def run(self, beginning: Beginning) -> Outcome:
        progress, belongings, begun = self._progress, self._belongings, self._job.begun_bytes

        def begin() -> None:
            """By the first tick: nothing can fail any more before there is something to keep."""
            if not beginning.is_over:
                belongings.enter(self._graph, lambda: self._job.store.written)
                beginning.is_over = True

        with Assist(
            *(self.harvest, self._settings, progress.traffic, self._transport, belongings, begun)
        ) as assist:
            try:
                self.harvest.run(begin, progress, assist.tick)
            finally:
                progress.close()
            assist.finish()
            return self._end(assist)

    def _end(self, assist: Assist) -> Outcome:
        """The notice of the end tells the verdict, so it is found before the assist goes."""
        page = sheets_of(self.harvest, self._graph, self._settings, self._options.quiet)
        if self._transport is not None:  # after the pages: the media were still here
            with bar("shipped", self._transport.backlog, self._options.quiet) as show:
                assist.ship_rest(show)
        graph, by_type = counted(self._graph)
        error = self._trouble(graph)
        if isinstance(error, NothingHarvested):
            self.harvest.verdict = str(error)
        return Outcome(graph, by_type, page, error)

    def _trouble(self, graph: Counts | None) -> HarvestError | None:
        streamer = self._job.streamer
        if streamer is not None and streamer.uri in self.harvest.pools.failed:
            return StopHarvest(GIVEN_UP)
        return nothing_kept(self.harvest, self._job, self._settings, graph)

    def report(self, seen: Look, outcome: Outcome) -> str:
        """While everything is still open."""
        return summary(
            seen.pools,
            outcome.graph,
            outcome.by_type,
            {group.reason_group: group.number for group in seen.groups},
            dict(self._job.refused.most_common()),
            self._progress,
            places(self._settings, outcome.page),
            self._job.told(),
        )


def in_sample_world(settings: Settings, stack: ExitStack) -> Settings:
    """The same settings, with servers of our own on this computer, and fewer files of each kind."""
    from ..conceptnet.index.build import index_of  # both take their time to load
    from ..conceptnet.mirror.mirror import Mirror

    mirror = stack.enter_context(Mirror(index_of(world.lines())))
    extend = replace(settings.extend, images=min(settings.extend.images, 1), keys={})
    extend = replace(extend, sounds=min(extend.sounds, 1), gifs=min(extend.gifs, 1))
    if extend.is_wanted:
        from ..sample.media import MediaServers

        servers = stack.enter_context(MediaServers()).servers
        extend = replace(extend, servers=servers, providers=tuple(servers))
    return replace(settings, source=mirror.url, extend=extend)


def places(settings: Settings, page: Path | None) -> dict[str, object]:
    """Where a user finds what was harvested."""
    found: dict[str, object] = {"graph": settings.graph_url}
    if settings.extend.is_wanted:
        found["media"] = settings.media
    if settings.transport.host:
        found["shipped to"] = f"{settings.transport.host}:{settings.transport.folder}"
    if page is not None:
        found["to look at"] = page
    return {**found, "state": settings.state, "log": settings.state / "log"}


def sheets_of(run: Harvest, graph: Graph, settings: Settings, quiet: bool) -> Path | None:
    """Pages to look at, if there is something new; whatever goes wrong costs only the pages: the
    last shipping and the summary are still to come."""
    if not settings.extend.is_wanted or not settings.extend.sheets or not run.has_worked:
        return None
    try:
        return latest_sheets(graph, settings, quiet)
    except Exception as error:
        reason = error if isinstance(error, HarvestError) else repr(error)
        logger.warning("no pages to look at (%s): python main.py sheet tries again", reason)
        return None


def counted(graph: Graph) -> tuple[Counts | None, dict[str, int]]:
    """The harvest has ended well even if its graph went away in the last moment."""
    try:
        return graph.counts(), graph.relations_by_type()
    except Unavailable as error:
        logger.warning("%s", error)
        return None, {}
