"""An activity of a task: what is asked again at its beginning, what follows from its end.

Promise: one that was interrupted, by a kill too, goes on where it was; only one that came to its
end is followed by the next. What a step of the end finds waits for the next activity.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator

from ..engine.pools import Pools
from ..engine.stage import Stage
from ..errors import GiveUp, HarvestError, Unavailable, UsageError
from ..tables.target import Target
from .request import Layer, Request
from .task import Task
from .told import told
from .visit import found_of

logger = logging.getLogger(__name__)

NUMBER, BEGUN, ENDED, ENDED_AT = "activity", "activity_begun", "activity_ended", "activity_ended_at"
"""What a state remembers of its activities: the last one's number, when it began, which was the
last to come to its end, and when."""
OUT_OF_ATTEMPTS = "attempts)"  # how the reason of what was tried often ends


class Activity:
    def __init__(self, task: Task, stage: Stage, pools: Pools) -> None:
        self._task = task
        self._stage = stage
        self._pools = pools
        self.number = 0

    def begin(self) -> int:
        """Goes on with the last one, or begins the next; its number."""
        facts = self._pools.remembered()
        last, ended = int(facts.get(NUMBER, 0)), int(facts.get(ENDED, 0))
        self.number = last
        if last == ended:  # both are 0 at the very first
            self.number = last + 1
            again = self._reopen()
            if last:
                again += self._retry()
                logger.info("activity %d begins: %d requests are asked again", self.number, again)
            self._pools.remember({NUMBER: str(self.number), BEGUN: str(time.time())})
        return self.number

    def _reopen(self) -> int:
        """A crash amid this does no harm: nothing is reopened twice before it is visited."""
        again = sum(self._pools.reopen(self._stage, f"{layer} ") for layer in self._task.again)
        for layer in self._task.layers:
            if (age := self._task.options(layer).age_s) is not None:
                before = time.time() - age
                again += self._pools.reopen(self._stage, f"{layer} ", before)
        return again

    def enter(self, requests: Iterable[Request]) -> int:
        """What is new, or was finished, waits; how many."""
        found = found_of(self._task, (each for each in requests if self._has(each.layer)))
        new = self._pools.discover(*found)
        return new + sum(self._pools.reopen_named(self._stage, group.uris) for group in found)

    def revive(self, requests: Iterable[Request]) -> int:
        """As `enter`, and what had failed, too. What people wrote may be relative to the base."""
        found = found_of(self._task, self._whole(requests))
        again = 0
        for group in found:
            for pool in ("finished", "failed"):
                again += self._pools.reopen_named(self._stage, group.uris, pool)
        return again + self._pools.discover(*found)

    def _whole(self, requests: Iterable[Request]) -> Iterator[Request]:
        for each in requests:
            whole = each.on(self._task.base)
            if whole is None:
                logger.warning("%r is not an address of the web: it is left out", each.url[:200])
            elif self._has(each.layer):
                yield whole

    def _has(self, layer: Layer) -> bool:
        if layer in self._task.layers:
            return True
        logger.warning("a request of the layer %r, which the task has not, is left out", layer)
        return False

    # --- the end -----------------------------------------------------------------------------

    def end(self, tables: Target) -> dict[str, int]:
        """Nothing is left to ask: how many requests each step gives the next activity."""
        given: dict[str, int] = {}
        try:
            if "refill" in self._task.after_steps and self._task.refill:
                given["refill"] = self.enter(self._refilled(tables))
            if own := self._entered(tables):
                given["after"] = own
        except Unavailable as error:
            logger.warning("the steps after activity %d are left out: %s", self.number, error)
        self._pools.remember({ENDED: str(self.number), ENDED_AT: str(time.time())})
        return {step: number for step, number in given.items() if number}

    def _retry(self) -> int:
        """What failed in fewer activities than the task allows. Only now: until the next activity
        it is seen among what failed. Where all attempts were spent, a later activity is one more.
        """
        if "retry" not in self._task.after_steps:
            return 0
        rounds, attempts = self._task.rounds, self._task.attempts
        spent = self._pools.revive(OUT_OF_ATTEMPTS, self._stage, attempts + rounds - 1)
        return spent + self._pools.revive("", self._stage, rounds)

    def _refilled(self, tables: Target) -> Iterator[Request]:
        for refill in self._task.refill:
            yield from self._task.asked_by(tables.select(refill.query), refill.layer)

    def _entered(self, tables: Target) -> int:
        """What a class asks for; its mistake does not keep the activity from its end."""
        try:
            found = [_request(each) for each in self._task.after(tables) or ()]
            asked = [whole for each in found if (whole := each.on(self._task.base)) is not None]
            return self.enter(asked)
        except (UsageError, GiveUp) as error:
            logger.error("after activity %d: %s", self.number, error)
        except HarvestError:
            raise
        except (Exception, SystemExit) as error:
            logger.error("after activity %d: %s", self.number, told(error, self._task.file))
        return 0


def _request(given: object) -> Request:
    if not isinstance(given, Request):
        raise TypeError(f"after gave {type(given).__name__}, which is no request")
    return given


def create_tables(task: Task, tables: Target) -> None:
    """What a class does when its tables are there."""
    try:
        task.create(tables)
    except HarvestError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{task.place}: create: {told(error, task.file)}") from error


def first_requests(task: Task, tables: Target) -> Iterator[Request]:
    """Those the task names, and those its query finds in its tables."""
    for refill in task.refill:  # days later is too late to hear of a mistake
        tables.select(f"EXPLAIN {refill.query}")
    yield from task.starts()
    if task.start_from:
        yield from task.asked_by(tables.select(task.start_from))
