"""The job `conceptnet`: walk breadth-first from seed concepts, or read a whole file, keep what
passes the filter, and get media for it. Its stages are `fetch` (relations) and `extend` (media).
"""

from __future__ import annotations

import json
import logging
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ..add import Adder, Attachment, Graph
from ..conceptnet.api import ApiSource
from ..conceptnet.graph import open_graph
from ..conceptnet.rules import Filter
from ..engine.executor import Executor
from ..engine.harvest import Harvest
from ..engine.job import Counted, Job
from ..engine.panel import Panel
from ..engine.stage import Found, Worker
from ..errors import HarvestError, StopHarvest, UsageError
from ..fetch import Fetcher, Source
from ..graphs.open import is_there
from ..journal.snapshots import BUDGETS
from ..media.drafts import Drafts, reason_group
from ..media.ledger import Ledger
from ..settings import Settings
from .conceptnet_asking import asks_strangers, client_of, extender_of
from .conceptnet_description import CONCEPTNET, REAL, SAMPLE
from .conceptnet_results import Results
from .outcome import begin_to_count, nothing_kept
from .ownership import Belongings

if TYPE_CHECKING:
    from ..cluster.abroad import Abroad
    from ..conceptnet.dump.stream import Streamer

logger = logging.getLogger(__name__)

GIVEN_UP = (
    "the file was given up: `python history.py --failed` says why; `python main.py retry`, then "
    "start again"
)


class ConceptnetJob(Job):
    """`world` says what is harvested, so that a sample never mixes with the real thing. `is_whole`:
    everything in the file, without a walk. `belongings`: whose graph and media folder it works in,
    where that matters."""

    description = CONCEPTNET

    def __init__(
        self,
        settings: Settings,
        graph: Graph,
        stop: Event,
        world: str,
        is_whole: bool = False,
        quiet: bool = False,
        belongings: Belongings | None = None,
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._belongings = self.guard = belongings
        self._results = Results(graph, settings, quiet)
        self._opened = ExitStack()
        self._is_abroad = False
        self._world = world
        self._stop = stop
        self._quiet = quiet
        wanted = wanted_by(settings)
        ground = settings.extend.ground if settings.extend.is_wanted else "nothing"
        self.client = client_of(settings, stop, budgets=settings.state / BUDGETS)
        self.streamer = self._streamer(wanted, ground) if is_whole else None
        self.ledger = Ledger(settings.media)
        self.refused: Counter[str] = Counter()  # files, by reason
        self.drafts = Drafts(settings.state / "drafts", settings.media)
        self._adder = Adder(graph, self._book, self.ledger.require)
        self.stages = self.description.stages(settings)
        self.seeds: Sequence[Found] = (Found("fetch", settings.seeds),)
        self.workers: Mapping[str, Worker] = {"fetch": self._fetching(wanted, ground)}
        if settings.extend.is_wanted:
            extender = extender_of(settings, self.client, self.drafts, stop)
            self.workers = {**self.workers, "extend": extender}

    def _fetching(self, wanted: Filter, ground: str) -> Worker:
        """Who fetches: a file from end to end, or concept by concept from a source."""
        if self.streamer is not None:
            self.reading = self.streamer.lines
            self.seeds = (Found("fetch", [self.streamer.uri]),)
            return self.streamer
        self.source = self._source(wanted)
        self.fetcher = Fetcher(self.source, wanted, self._settings.depth, ground)
        return self.fetcher

    @property
    def store(self) -> Adder:
        return self._adder

    @property
    def harvest_id(self) -> str:
        return "" if self._belongings is None else self._belongings.harvest

    def abroad(self) -> Abroad:
        """Files and books are the nodes' from now on."""
        from .conceptnet_abroad import abroad_of

        self._is_abroad = True
        self._adder = Adder(self._graph, self._count_refused)
        return abroad_of(self, self._settings, self._graph, wanted_by(self._settings))

    def identity(self) -> dict[str, str]:
        world = self.streamer.world if self.streamer else self._world
        return {**super().identity(), "world": world}

    def choices(self) -> dict[str, str]:
        chosen, extend = self._settings.filter, self._settings.extend
        return {
            "languages": " ".join(chosen.languages),
            "min_weight": str(chosen.min_weight),
            "relations": " ".join(chosen.relations),
            "senses": json.dumps(chosen.senses),
            "depth": json.dumps(self._settings.depth),
            "media": f"{extend.images} images, {extend.sounds} sounds and {extend.gifs} gifs for "
            + (extend.ground if extend.is_wanted else "nothing"),
        }

    def close_too(self, opened: ExitStack) -> None:
        """What was opened for this job, and ends after it."""
        self._opened = opened

    def open(self, harvest: Harvest) -> None:
        """Raises Unreachable if the source does not answer."""
        if self._belongings is not None:
            begin_to_count(harvest.pools)
            self._belongings.take(harvest.pools, self.ledger, self._is_abroad)
            self._open_transport(harvest)
        if self.streamer is not None:
            self.streamer.open(harvest.pools.tallied)
        else:
            self.source.check()
        if (
            "extend" in self.workers
            and asks_strangers(self._settings)
            and not self._settings.http.contact
        ):
            logger.warning("http.contact is empty: Wikimedia refuses those who do not say who asks")

    def _open_transport(self, harvest: Harvest) -> None:
        """If media do not stay here. What a crash interrupted is completed before new ones come."""
        is_here = self._settings.extend.is_wanted and not self._is_abroad
        if self._settings.transport.host and is_here:
            from .shipping import transport_of  # it takes paramiko with it

            ways = self.ledger, harvest.at_quiet_point, self._stop
            self.transport = transport_of(self._settings, *ways)
            self.transport.complete()

    def begin(self) -> None:
        if self._belongings is not None:
            self._belongings.enter(self._graph, lambda: self.store.written)

    def finish(self, harvest: Harvest) -> None:
        self._results.write_pages(harvest)

    def problem(self, harvest: Harvest) -> HarvestError | None:
        if self.streamer is not None and self.streamer.uri in harvest.pools.failed:
            return StopHarvest(GIVEN_UP)
        return nothing_kept(harvest, self, self._settings, self._results.counts)

    def close(self) -> None:
        self.client.close()
        self.ledger.close()
        self._opened.close()

    def lost(self, owners: Sequence[str]) -> None:
        self._graph.attach({owner: () for owner in owners})

    # --- how far it is ---------------------------------------------------------------------

    def counted(self) -> Sequence[Counted]:
        media = Counted("media", self.store.media.total(), "kept", "extend" in self.workers)
        return (Counted("relations", self.store.written, "written"), media)

    def begun_bytes(self) -> int:
        return self.drafts.weight

    def read(self) -> dict[str, int]:
        if self.streamer is not None:
            return self.streamer.counts()
        return self.source.faults.counts() if isinstance(self.source, ApiSource) else {}

    def summary(self) -> Sequence[Panel]:
        return self._results.panels(self.store.media, dict(self.refused.most_common()))

    def places(self) -> dict[str, str | Path]:
        return self._results.places()

    # --- what it is made of ----------------------------------------------------------------

    def _source(self, wanted: Filter) -> Source:
        if (file := self._settings.source_file) is None:
            return ApiSource(self._settings.source, self.client, wanted)
        from ..conceptnet.file_source import DumpSource  # it takes numpy with it

        return DumpSource(file, wanted, self._settings.dump, self._quiet)

    def _streamer(self, wanted: Filter, ground: str) -> Streamer:
        from ..conceptnet.dump.stream import Streamer

        if (file := self._settings.source_file) is None:
            raise UsageError(
                "--all needs a file: --source FILE; `python main.py download` fetches ConceptNet's"
            )
        return Streamer(file, wanted, self._settings.dump.max_malformed, ground)

    def executor(self) -> Executor | None:
        if "extend" not in self.workers or not self._settings.worker_processes:
            return None
        from .conceptnet_processes import executor_of

        return executor_of(self, self._settings, self.drafts, self._stop)

    def _book(self, attachments: Sequence[Attachment]) -> None:
        self.ledger.add(attachments)
        self._count_refused(attachments)

    def _count_refused(self, attachments: Sequence[Attachment]) -> None:
        for each in attachments:
            self.refused.update(reason_group(file["reason"]) for file in each.refused)
        self.drafts.remove([each.owner for each in attachments])


class OfflineJob(ConceptnetJob):
    """Of the sample, which brings its source along when it is really harvested."""

    def open(self, harvest: Harvest) -> None:
        """There is nobody to ask yet."""


def wanted_by(settings: Settings) -> Filter:
    chosen = settings.filter
    return Filter.of(chosen.languages, chosen.min_weight, chosen.relations, chosen.senses)


def opened(settings: Settings, arguments: Namespace, stop: Event) -> ConceptnetJob:
    """With a graph and a media folder that are found to be its own."""
    belongings = Belongings(settings, arguments.resume)
    with ExitStack() as stack:
        graph = open_graph(settings.graph_url, settings.neo4j.password)
        stack.enter_context(closing(graph))
        stack.enter_context(graph.members.at_work(belongings.harvest))
        belongings.check(graph)
        world = SAMPLE if arguments.sample else REAL
        ways = arguments.all, arguments.quiet, belongings
        job = ConceptnetJob(settings, graph, stop, world, *ways)
        job.close_too(stack.pop_all())
    return job


def rehearsed(
    settings: Settings, scratch: Settings, arguments: Namespace, stop: Event
) -> ConceptnetJob:
    """In an empty folder; that the graph can be opened is tried where it is."""
    if settings.graph and is_there(settings.graph):
        open_graph(settings.graph, settings.neo4j.password).close()
    with ExitStack() as stack:
        graph = stack.enter_context(closing(open_graph(scratch.graph_url)))
        kind = OfflineJob if arguments.sample else ConceptnetJob
        job = kind(scratch, graph, stop, "", arguments.all, arguments.quiet)
        job.close_too(stack.pop_all())
    return job
