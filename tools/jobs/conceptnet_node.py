"""The job `conceptnet` on a node: who works there, and what becomes of its files.

Promise: files are booked only when the graph has them, and dropped when it has others; what was
begun stays for when its task comes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

from ..add import Attachment
from ..base.config import build
from ..base.program import module_command
from ..cluster.executor import Away, ProcessExecutor
from ..cluster.limits import SharedLimits
from ..cluster.messages import Result, Welcome
from ..cluster.post import Post
from ..cluster.staff import (
    Arrived,
    AtQuietPoint,
    MakeTransport,
    NodeCarrier,
    NodeStaff,
    Passing,
)
from ..conceptnet.api import ApiSource
from ..engine.executor import Executor
from ..engine.stage import Done, Stage, Worker
from ..engine.threads import ThreadExecutor
from ..errors import HarvestError
from ..fetch import Fetcher
from ..media.drafts import Drafts, draft_of
from ..media.ledger import Ledger, node_harvest
from ..media.leftovers import Leftovers
from ..network.client import Client
from ..network.limits import merged
from ..providers import catalogue
from ..settings import Settings
from .conceptnet import wanted_by
from .conceptnet_abroad import attachment_of, page_cargo
from .conceptnet_asking import client_of, extender_of
from .conceptnet_processes import DraftCargo, process_setup

if TYPE_CHECKING:
    from ..transport import Transport


def _settings_of(name: str, setup: Mapping[str, Any], own: Settings) -> Settings:
    """The harvest's, with what is this node's own. It ships under its own name."""
    theirs = build(Settings(), setup["settings"])
    transport = replace(own.transport, sender=own.transport.sender or name)
    return replace(
        theirs,
        media=own.media,
        state=own.state,
        fetch_workers=own.fetch_workers,
        extend_workers=own.extend_workers,
        processes=own.processes,
        process_memory_mb=own.process_memory_mb,
        proxy=own.proxy,
        transport=transport,
        extend=replace(theirs.extend, keys=own.extend.keys),
        cluster=replace(own.cluster, per_node=tuple(setup["per_node"])),
    )


def client_there(settings: Settings, post: Post, stop: Event) -> Client:
    limits = merged(catalogue.limits(settings.extend), settings.http.limits)
    kept = SharedLimits.of(post, limits, settings.cluster.per_node, stop)
    return client_of(settings, stop, kept=kept)


def staff_of(name: str, own: Settings, welcome: Welcome, post: Post, stop: Event) -> NodeStaff:
    """Of the node of this name."""
    settings = _settings_of(name, welcome.setup, own)
    opened = ExitStack()
    client = client_there(settings, post, stop)
    opened.callback(client.close)
    workers: dict[str, Worker] = {}
    carriers: dict[str, NodeCarrier] = {}
    stages: dict[str, Stage] = {}
    drafts = Drafts(settings.state / "drafts", settings.media)
    ledger = Ledger(settings.media)
    if settings.source_file is None:
        ground = settings.extend.ground if settings.extend.is_wanted else "nothing"
        wanted = wanted_by(settings)
        source = ApiSource(settings.source, client, wanted)
        workers["fetch"] = Fetcher(source, wanted, settings.depth, ground)
        stages["fetch"] = Stage("fetch", settings.fetch_workers)
        carriers["fetch"] = Passing(page_cargo)
    if settings.extend.is_wanted:
        ledger.claim(node_harvest(welcome.harvest, name))
        ledger.measure()
        opened.callback(ledger.close)
        opened.callback(Leftovers(settings.media, stop).wait)
        workers["extend"] = extender_of(settings, client, drafts, stop)
        stages["extend"] = Stage("extend", settings.extend_workers, folder=settings.media)
        carriers["extend"] = FileCarrier(drafts, ledger)
    executor = _executor(settings, stages, workers, client, drafts, stop)
    rests = client.limits.rests
    return NodeStaff(
        executor,
        stages,
        carriers,
        client.traffic,
        rests,  # type: ignore[arg-type]
        transport=_way(settings, ledger, stop) if "extend" in stages else None,
        close=opened.close,
    )


def _way(settings: Settings, ledger: Ledger, stop: Event) -> MakeTransport | None:
    if not settings.transport.host:
        return None
    from .shipping import transport_of  # it takes paramiko with it

    def made(at_quiet_point: AtQuietPoint, arrived: Arrived) -> Transport:
        return transport_of(settings, ledger, at_quiet_point, stop, arrived)

    return made


def _executor(
    settings: Settings,
    stages: Mapping[str, Stage],
    workers: Mapping[str, Worker],
    client: Client,
    drafts: Drafts,
    stop: Event,
) -> Executor:
    """Media are decoded by processes of this machine, as they are where the harvest is."""
    if "extend" not in stages or not settings.worker_processes:
        return ThreadExecutor(stages.values(), workers)
    from .conceptnet_processes import granting

    away = Away(
        {"extend": DraftCargo(drafts)},
        settings.worker_processes,
        module_command(".jobs.conceptnet_processes"),
        "conceptnet",
        process_setup(settings),
        granting(client),
        client.traffic,
        settings.process_memory,
    )
    return ProcessExecutor(stages.values(), workers, away, stop)


class FileCarrier:
    """Drafts and books lie here."""

    keeps_files = True

    def __init__(self, drafts: Drafts, ledger: Ledger) -> None:
        self._drafts = drafts
        self.ledger = ledger

    def arrived(self, uri: str, cargo: Any, is_again: bool) -> None:
        """What others began without files; what was begun here goes before."""
        if isinstance(cargo, dict) and self._drafts.lend(uri) is None:
            self._drafts.save(draft_of(cargo))

    def given_back(self, uri: str) -> None:
        """A draft that came along stays for when it comes back."""

    def leaving(self, uri: str, result: Done | HarvestError) -> Any:
        if isinstance(result, Done):
            found = result.records
            if not isinstance(found, Attachment):
                raise ValueError("no files were looked for")
            return {"media": list(found.media), "search": dict(found.search)}
        table = self._drafts.lend(uri)
        if table is None:
            return None
        if table["media"]:
            return {"files": True}
        self._drafts.remove([uri])
        return {"draft": table}

    def judged(self, result: Result, verdict: str) -> None:
        if result.done is None:
            return
        if verdict == "settled":
            self.ledger.add([attachment_of(result.uri, result.cargo)])
            self._drafts.remove([result.uri])
        elif verdict == "stale":
            self._drafts.drop(result.uri)
        else:
            self._drafts.keep_delivered(result.uri)
