"""The job `conceptnet`: walk breadth-first from seed concepts, keep what passes the filter.

Its stages are `fetch` (relations) and `extend` (media). This version brings no worker for the
second, so every concept is finished when it is fetched; the pools of both are there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from threading import Event

from tools.add import Adder, Graph
from tools.errors import UsageError
from tools.fetch import Fetcher
from tools.http import Client
from tools.proxy import Proxies
from tools.rules import Filter
from tools.settings import Settings
from tools.sources.api import ApiSource
from tools.stage import Found, Order, Stage, Worker

NAME = "conceptnet"


class ConceptnetJob:
    """`world` says what is harvested, so that a sample never mixes with the real thing."""

    def __init__(self, settings: Settings, graph: Graph, stop: Event, world: str) -> None:
        chosen = settings.filter
        wanted = Filter.of(chosen.languages, chosen.min_weight, chosen.relations, chosen.senses)
        connections = settings.fetch_workers + settings.extend_workers
        self.client = Client(settings.http, Proxies(settings.proxy.urls), stop, connections)
        self.source = ApiSource(_base_url(settings.source), self.client, wanted)
        self.store = Adder(graph)
        self.stages: Sequence[Stage] = (_fetch_stage(settings), _extend_stage(settings))
        self.seeds: Sequence[Found] = (Found("fetch", settings.seeds),)
        self.workers: Mapping[str, Worker] = {"fetch": Fetcher(self.source, wanted, settings.depth)}
        self._settings = settings
        self._world = world

    def identity(self) -> dict[str, str]:
        return {"job": NAME, "world": self._world}

    def choices(self) -> dict[str, str]:
        chosen = self._settings.filter
        return {
            "languages": " ".join(chosen.languages),
            "min_weight": str(chosen.min_weight),
            "relations": " ".join(chosen.relations),
            "senses": json.dumps(chosen.senses),
            "depth": json.dumps(self._settings.depth),
        }

    def open(self) -> None:
        """Raises Unreachable if the source does not answer."""
        self.source.check()

    def close(self) -> None:
        self.client.close()


def _fetch_stage(settings: Settings) -> Stage:
    """A walk of limited depth needs true distances, so it goes level by level."""
    order: Order = "fifo" if settings.depth is None else "levels"
    return Stage("fetch", settings.fetch_workers, order, settings.limit)


def _extend_stage(settings: Settings) -> Stage:
    return Stage("extend", settings.extend_workers)


def _base_url(source: str) -> str:
    if not source.startswith(("http://", "https://")):
        raise UsageError(f"the source {source!r} is not an address: write it like http://host:port")
    return source
