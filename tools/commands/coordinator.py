"""What makes a harvest the coordinator of nodes: its key, and the stages they work on."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

from ..assist.inbox import take_node_requests
from ..cluster.bus import Bus
from ..cluster.join_file import SUFFIX, read_join
from ..cluster.names import COORDINATOR
from ..cluster.nodes import NodeExecutor
from ..engine.harvest import Harvest
from ..engine.job import Job
from ..engine.lost_node import forget_node
from ..errors import UsageError
from ..settings import Settings

logger = logging.getLogger(__name__)

HOUR_S = 3600.0


def obey(state: Path, harvest: Harvest, nodes: NodeExecutor) -> None:
    """What other processes ask of a harvest that runs, concerning its nodes."""
    for verb, name in take_node_requests(state):
        if verb == "drain":
            nodes.drain(name)
            continue
        harvest.at_quiet_point(partial(_forget, name, harvest))
        nodes.forget(name)


def _forget(name: str, harvest: Harvest) -> None:
    job = harvest.job
    number = forget_node(name, harvest.pools, job.stages, job.lost)
    logger.warning("node %s is forgotten: %d wait again", name, number)


def executor_of_nodes(job: Job, settings: Settings, stop: Event) -> NodeExecutor:
    """Nodes may come when it has begun."""
    file = settings.cluster.folder / f"{COORDINATOR}{SUFFIX}"
    if not file.exists():
        raise UsageError(
            f"there is no cluster in {settings.cluster.folder}: python main.py cluster init "
            "--address HOST makes one"
        )
    key, abroad, here = read_join(file), job.abroad(), job.stages
    job.stages = [
        replace(stage, workers=settings.cluster.tasks, kind="waits", is_elsewhere=True)
        if stage.name in abroad.cargoes
        else stage
        for stage in job.stages
    ]
    for sentence in abroad.advice:
        logger.warning("%s", sentence)
    patience_s = settings.cluster.patience_h * HOUR_S
    ways = lambda back: Bus(key, back=back), stop, patience_s
    return NodeExecutor(job.stages, job.workers, abroad, *ways, here)
