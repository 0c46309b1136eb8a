"""What an error that ended a task stands for."""

from __future__ import annotations

import logging

from ..errors import NO_FILES, GiveUp, HarvestError, RetryLater, no_more_files
from .stage import Task

logger = logging.getLogger(__name__)


def judged(task: Task, error: Exception) -> HarvestError:
    """What the system lacks is nobody's fault; what nobody foresaw is a bug."""
    if isinstance(error, HarvestError):
        return error
    if isinstance(error, OSError) and error.errno in NO_FILES:
        return no_more_files(error)
    if isinstance(error, MemoryError):  # perhaps for this one only: others go on
        return RetryLater("there is not enough memory for it")
    logger.error("Worker %s uri=%r", task.stage.name, task.uri, exc_info=error)  # the evidence
    return GiveUp(f"a bug in Sheaf: {error!r}")
