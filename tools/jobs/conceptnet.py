"""The job `conceptnet`: walk breadth-first from seed concepts, or read a whole file, keep what
passes the filter, and get media for it. Its stages are `fetch` (relations) and `extend` (media).
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ..add import Adder, Attachment, Graph
from ..conceptnet.api import ApiSource
from ..conceptnet.rules import Filter
from ..engine.pools import Pools
from ..engine.stage import Found, Order, Stage, Worker
from ..errors import UsageError
from ..extend import Extender, Wanted, media_kinds
from ..fetch import Fetcher, Source
from ..journal.snapshots import BUDGETS
from ..media.drafts import Drafts
from ..media.ledger import Ledger, reason_group
from ..network.client import Client
from ..network.guard import host_of
from ..providers import catalogue
from ..proxy import Proxies
from ..settings import Settings

if TYPE_CHECKING:
    from ..conceptnet.dump.stream import Streamer

logger = logging.getLogger(__name__)

NAME = "conceptnet"


class ConceptnetJob:
    """`world` says what is harvested, so that a sample never mixes with the real thing. `is_whole`:
    everything in the file, without a walk."""

    def __init__(
        self,
        settings: Settings,
        graph: Graph,
        stop: Event,
        world: str,
        is_whole: bool = False,
        quiet: bool = False,
    ) -> None:
        self._settings = settings
        self._world = world
        self._stop = stop
        self._quiet = quiet
        wanted = wanted_by(settings)
        ground = settings.extend.ground if settings.extend.is_wanted else "nothing"
        self.client = client_of(settings, stop, budgets=settings.state / BUDGETS)
        self.streamer = self._streamer(wanted, ground) if is_whole else None
        self.ledger = Ledger(settings.media)
        self.refused: Counter[str] = Counter()  # files, by reason
        self._drafts = Drafts(settings.state / "drafts", settings.media)
        self.store = Adder(graph, self._book, self.ledger.require)
        self.stages = stages(settings)
        self.seeds: Sequence[Found] = (Found("fetch", settings.seeds),)
        if self.streamer is not None:
            self.seeds = (Found("fetch", [self.streamer.uri]),)
            self.workers: Mapping[str, Worker] = {"fetch": self.streamer}
        else:
            self.source = self._source(wanted)
            self.workers = {"fetch": Fetcher(self.source, wanted, settings.depth, ground)}
        if settings.extend.is_wanted:
            self.workers = {**self.workers, "extend": self._extender()}

    def identity(self) -> dict[str, str]:
        return {"job": NAME, "world": self.streamer.world if self.streamer else self._world}

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

    def open(self, pools: Pools) -> None:
        """Raises Unreachable if the source does not answer."""
        if self.streamer is not None:
            self.streamer.open(pools.tallied)
        else:
            self.source.check()
        if (
            "extend" in self.workers
            and asks_strangers(self._settings)
            and not self._settings.http.contact
        ):
            logger.warning("http.contact is empty: Wikimedia refuses those who do not say who asks")

    def told(self) -> dict[str, int]:
        """How far a file is read, and how much of a source could not be."""
        if self.streamer is not None:
            return self.streamer.told()
        return self.source.faults.told() if isinstance(self.source, ApiSource) else {}

    def close(self) -> None:
        self.client.close()
        self.ledger.close()

    def begun_bytes(self) -> int:
        """Of files that belong to unfinished tasks."""
        return self._drafts.weight

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

    def _extender(self) -> Extender:
        from ..media.downloader import Downloader  # it takes Pillow with it

        extend, media = self._settings.extend, self._settings.media
        return Extender(
            catalogue.opened(extend, self.client),
            Downloader(self.client, extend, media_kinds(bool(extend.sounds))),
            self._drafts,
            media,
            Wanted(extend.wanted, extend.enough, extend.patience_days),
            self._settings.attempts,
            self._stop,
        )

    def _book(self, attachments: Sequence[Attachment]) -> None:
        self.ledger.add(attachments)
        for each in attachments:
            self.refused.update(reason_group(file["reason"]) for file in each.refused)
        self._drafts.remove([each.owner for each in attachments])


def wanted_by(settings: Settings) -> Filter:
    chosen = settings.filter
    return Filter.of(chosen.languages, chosen.min_weight, chosen.relations, chosen.senses)


def asks_strangers(settings: Settings) -> bool:
    """Are media asked of anybody but servers that the settings name?"""
    return bool(set(catalogue.usable(settings.extend)) - set(settings.extend.servers))


def client_of(
    settings: Settings, stop: Event, proxies: Proxies | None = None, budgets: Path | None = None
) -> Client:
    named, connections = dict(settings.extend.servers), settings.extend_workers
    if settings.source_file is None:
        named["source"] = settings.source
        connections += settings.fetch_workers
    return Client(
        settings.http,
        proxies or Proxies(settings.proxy.urls),
        stop,
        connections,
        limits=catalogue.limits(settings.extend),
        trusted=[_host(name, url) for name, url in named.items()],
        budgets=budgets,
    )


def stages(settings: Settings) -> Sequence[Stage]:
    """A walk of limited depth needs true distances, so it goes level by level."""
    order: Order = "fifo" if settings.depth is None else "levels"
    return (
        Stage("fetch", settings.fetch_workers, order, settings.limit),
        Stage("extend", settings.extend_workers, folder=settings.media),
    )


def _host(name: str, url: str) -> str:
    try:
        return host_of(url)
    except ValueError:
        raise UsageError(
            f"the {name} {url!r} is not an address: write it like http://host:port"
        ) from None
