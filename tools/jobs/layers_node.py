"""The job `layers` on a node: who asks there, by which task.

Promise: the task is the node's own, of the name that the coordinator gives; whether it is the same
one its hash tells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from ..base.config import build
from ..cluster.hosts import NodeHosts
from ..cluster.limits import SharedLimits
from ..cluster.messages import Welcome
from ..cluster.post import Post
from ..cluster.staff import NodeStaff
from ..cluster.travel import TravelCarrier
from ..engine.stage import Stage
from ..engine.threads import ThreadExecutor
from ..errors import UsageError
from ..layers.asker import lane_in
from ..layers.catalogue import load_task
from ..layers.kept import table_of
from ..layers.task import Task
from ..layers.visit import STAGE, Visit, Visited
from ..network.limits import merged
from ..settings import Settings
from ..tables.declared import tables_of
from ..tables.travelling import packed
from .layers_abroad import code_of
from .layers_asking import asker_of, task_client
from .layers_task import part_of


def staff_of(own: Settings, welcome: Welcome, post: Post, stop: Event) -> NodeStaff:
    """A task that is not here, or cannot be loaded, is said to the coordinator."""
    setup = welcome.setup
    settings = _settings_of(setup, own)
    try:
        task = own_task(settings.layers.folder, setup["task"], setup["only"])
    except UsageError as error:
        return NodeStaff(ThreadExecutor((), {}), {}, {}, codes={f"{STAGE} lacks": str(error)})
    opened = ExitStack()
    limits = merged({}, {**settings.http.limits, **task.limits.rates})
    kept = SharedLimits.of(post, limits, settings.cluster.per_node, stop)
    client = task_client(settings, task, stop, kept=kept)
    opened.callback(client.close)
    hosts = NodeHosts(stop)
    tables = tables_of(task.tables, f"{task.place}: tables")
    visit = Visit(task, tables, asker_of(settings, task, client, hosts))
    carrier = TravelCarrier(visited_said, hosts)
    stage = Stage(STAGE, own.cluster.threads or task.workers, lane=lane_in)
    return NodeStaff(
        ThreadExecutor([stage], {STAGE: carrier.wrapped(visit)}),
        {STAGE: stage},
        {STAGE: carrier},
        client.traffic,
        kept.rests,
        codes={STAGE: {code_of(task): task.digest}},
        close=opened.close,
    )


def _settings_of(setup: Mapping[str, Any], own: Settings) -> Settings:
    """The harvest's way to ask, with what is this node's own."""
    theirs = build(Settings(), setup["settings"])
    layers = replace(theirs.layers, folder=own.layers.folder, only=tuple(setup["only"]))
    cluster = replace(own.cluster, per_node=tuple(setup["per_node"]))
    return replace(own, http=theirs.http, layers=layers, cluster=cluster)


def own_task(folder: Path, name: str, only: list[str]) -> Task:
    """Read anew: it may have been copied here since the last harvest, with what it imports."""
    place = folder.absolute()
    for module, loaded in list(sys.modules.items()):
        file = getattr(loaded, "__file__", None)
        if file is not None and place in Path(file).parents:
            del sys.modules[module]
    return part_of(load_task(folder, name), only)


def visited_said(visited: Visited) -> dict[str, Any]:
    """What a node sends of a page; TypeError if a value of a row cannot travel."""
    rows = [
        [row.table, {name: packed(value) for name, value in row.values.items()}]
        for row in visited.brought.rows
    ]
    answer = None if visited.answer is None else table_of(visited.answer)
    return {"rows": rows, "age_s": max(0.0, time.time() - visited.brought.seen), "answer": answer}
