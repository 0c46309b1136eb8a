"""What goes along with tasks and comes home with their results, looked at before it is kept."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any, Protocol

from ..engine.stage import Done, Task
from ..errors import HarvestError, Interrupted, RetryLater
from .messages import Result
from .wire import done_of, error_of

logger = logging.getLogger(__name__)


class Cargo(Protocol):
    """What goes along with a stage's tasks, and comes home with what they found."""

    def outgoing(self, task: Task) -> Any: ...

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        """The records of one that is done. ValueError if that cannot be right."""

    def lost(self, task: Task) -> None:
        """Its process is gone. What that has left of it goes, too."""


def result_of(
    task: Task, message: Result, cargo: Cargo, known: Collection[str]
) -> Done | Exception:
    """What a process brought of a task; `known` are the stages and pools that there are."""
    if task.seconds is not None:  # it was taken back meanwhile: somebody else has it
        return Interrupted("taken back")
    try:
        if message.done is None:
            error = error_of(message.error or {})
            cargo.incoming(task, error, message.cargo)
            return error
        done = done_of(message.done)
        _require_known(done, known)
        return done_of(message.done, cargo.incoming(task, done, message.cargo))
    except ValueError as error:
        logger.error("uri=%r: %s", task.uri, error)
        return RetryLater(f"who worked on it answered what cannot be right: {error}")
    except Exception as error:  # what was brought cannot be kept
        return error


def _require_known(done: Done, known: Collection[str]) -> None:
    """ValueError if it leads where nobody is."""
    named = [done.to, *(each.stage for each in done.found)]
    named += [each.again for each in done.found if each.again is not None]
    if unknown := [name for name in named if name not in known]:
        raise ValueError(f"there is no {unknown[0]!r}")
