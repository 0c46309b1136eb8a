"""The job `pages` on a node: who downloads there. Nothing of it stays on the node.

Promise: what the user's own files say (headers, cookies, code that extracts) is not here, and is
not needed: what needs it is done by the coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from threading import Event
from typing import Any

from ..archive.travelling import answered_said
from ..base.config import build
from ..cluster.hosts import NodeHosts
from ..cluster.limits import SharedLimits
from ..cluster.messages import Welcome
from ..cluster.post import Post
from ..cluster.staff import NodeStaff
from ..cluster.travel import TravelCarrier
from ..documents.address import lane_of
from ..engine.stage import Stage, Worker
from ..engine.threads import ThreadExecutor
from ..network.client import Client
from ..network.limits import merged
from ..pages.analyse import Analyse
from ..pages.brought import Brought
from ..pages.keeper import Keeper
from ..pages.own_headers import OwnHeaders
from ..pages.page import Analysed
from ..pages.travelling import record_said, record_told
from ..pages.visit import Visitor
from ..settings import Settings
from .pages_abroad import STAGE
from .pages_asking import crawling_client, download_of, dropped_by, robots_of
from .pages_questions import AskedRules, AskedTable


def staff_of(own: Settings, welcome: Welcome, post: Post, stop: Event) -> NodeStaff:
    setup = welcome.setup
    settings = _settings_of(setup, own)
    limits = merged({}, settings.http.limits)
    kept = SharedLimits.of(post, limits, settings.cluster.per_node, stop)
    hosts, client = NodeHosts(stop), crawling_client(settings, setup["trusted"], stop, kept)
    carrier = TravelCarrier(Luggage(setup["extracts"]).packed, hosts)
    download = worker_of(settings, client, hosts, AskedTable(post, stop), setup["plain"])
    stage = Stage(STAGE, settings.pages.download_workers, lane=lane_of)
    return NodeStaff(
        ThreadExecutor([stage], {STAGE: carrier.wrapped(download)}),
        {STAGE: stage},
        {STAGE: carrier},
        client.traffic,
        kept.rests,
        close=client.close,
    )


def _settings_of(setup: Mapping[str, Any], own: Settings) -> Settings:
    """The crawl's way to ask, with what is this node's own."""
    theirs = build(Settings(), setup["settings"])
    places = own.cluster.threads or theirs.pages.download_workers
    pages = replace(theirs.pages, download_workers=places)
    cluster = replace(own.cluster, per_node=tuple(setup["per_node"]))
    return replace(own, http=theirs.http, pages=pages, cluster=cluster)


def worker_of(
    settings: Settings, client: Client, hosts: NodeHosts, table: AskedTable, plain: list[str]
) -> Worker:
    pages, drop = settings.pages, dropped_by(settings.pages.drop_parameters)
    visitor = Visitor(client, hosts, OwnHeaders(None, None, ()), pages.timeout_s)
    analyse = Analyse(lambda url: None, drop, pages.analyse_max_bytes, pages.words)
    rules = AskedRules(table, hosts)
    robots = robots_of(settings, visitor, Keeper(table), rules, drop)
    ways = analyse, robots, Uncounted(), drop, frozenset(plain)
    return download_of(settings, visitor, table, *ways)


class Uncounted:
    def fetched(self, lane: str, digest: str) -> None:
        """The coordinator counts, which sees the pages of all nodes."""


class Luggage:
    """What goes home. `extracts`: the user has code for what else is kept of a page, and it is not
    here."""

    def __init__(self, extracts: bool) -> None:
        self._extracts = extracts

    def packed(self, brought: Brought | None) -> Any:
        """TypeError if the coordinator has to do it itself."""
        if brought is None:
            return None
        if self._extracts and any(isinstance(each, Analysed) for each in brought.records):
            raise TypeError("what is extracted of it is known where the code is")
        records = [record_said(each) for each in brought.records]
        try:
            for each in records:
                record_told(each)
        except ValueError as error:  # beyond what anybody believes
            raise TypeError(str(error)) from None
        return {"records": records, "answers": [answered_said(each) for each in brought.answers]}
