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


class NotRight(RetryLater):
    """What somebody brought of a task that cannot be what it found."""


MOST_COUNTS, LARGEST_COUNT, LONGEST_COUNT = 1000, 10**9, 300


class Cargo(Protocol):
    """What goes along with a stage's tasks, and comes home with what they found."""

    def outgoing(self, task: Task) -> Any: ...

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        """The records of one that is done, or all of it with what goes on to the next stage; of an
        error, what it means here, if that is another one. ValueError if that cannot be right."""

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
            meant = cargo.incoming(task, error, message.cargo)
            return meant if isinstance(meant, HarvestError) else error
        done = done_of(message.done)
        _require_known(done, known)
        _require_harmless(done)
        kept = cargo.incoming(task, done, message.cargo)
        return kept if isinstance(kept, Done) else done_of(message.done, kept)
    except ValueError as error:
        logger.error("uri=%r: %s", task.uri, error)
        return NotRight(f"who worked on it answered what cannot be right: {error}")
    except Exception as error:  # what was brought cannot be kept
        return error


def _require_known(done: Done, known: Collection[str]) -> None:
    """ValueError if it leads where nobody is."""
    named = [done.to, *(each.stage for each in done.found)]
    named += [each.again for each in done.found if each.again is not None]
    if unknown := [name for name in named if name not in known]:
        raise ValueError(f"there is no {unknown[0]!r}")


def _require_harmless(done: Done) -> None:
    """ValueError if it would count or write down what is not its own: the pools are counted beside
    what tasks count, and what a harvest knows of itself is no worker's business."""
    if done.facts or len(done.tally) > MOST_COUNTS:
        raise ValueError("it writes down what is not its own")
    for name, number in done.tally.items():
        is_ours = name in ("finished", "failed") or name.startswith(("to_", "on_", "done_"))
        if is_ours or not 0 <= number <= LARGEST_COUNT or len(name) > LONGEST_COUNT:
            raise ValueError(f"it counts {name[:LONGEST_COUNT]!r}, {number}")
