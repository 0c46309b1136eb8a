"""What makes a harvest the coordinator of nodes: its key, and the stages they work on."""

from __future__ import annotations

import logging
from dataclasses import replace
from threading import Event

from ..cluster.bus import Bus
from ..cluster.join_file import SUFFIX, read_join
from ..cluster.names import COORDINATOR
from ..cluster.nodes import NodeExecutor
from ..engine.job import Job
from ..errors import UsageError
from ..settings import Settings

logger = logging.getLogger(__name__)

HOUR_S = 3600.0


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
