"""What becomes of each task that comes back: done, to be tried again, or failed.

Promise: whatever happens, its place is free afterwards and the next task is handed out. What is
done and what failed come home by the same way, with what is to be stored of them.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from threading import Lock

from ..errors import (
    ComeBack,
    Died,
    Fatal,
    HarvestError,
    Interrupted,
    RetryLater,
    Unavailable,
)
from .committer import MOST_AT_ONCE, Committer, TakenBack, Tell
from .executor import Answer, Verdict, nobody
from .judgement import judged
from .marks import MOST, REASON
from .pools import Pools
from .rests import Rests
from .stage import Done, Stage, Task

logger = logging.getLogger(__name__)

FIRST_RETRY_S = 2.0
LONGEST_RETRY_S = 3600.0

Failed = Callable[[Task, str], object]
"""What is to be stored of a task that nobody tries again, and why nobody does; None: nothing."""


def no_record(_task: Task, _reason: str) -> object:
    return None


def _unstored(reason: str, error: Exception) -> str:
    logger.error("what failed could not be stored: %s", error, exc_info=error)
    return f"{reason} (and that could not be stored: {error})"


class Returns:
    """Of one stage. `freed` is called when a place is free, `fatal` with what ends everything."""

    def __init__(
        self,
        stage: Stage,
        pools: Pools,
        committer: Committer,
        attempts: int,
        failed: Failed,
        freed: Callable[[], None],
        fatal: Callable[[Fatal], None],
    ) -> None:
        self.rests = Rests(stage.name)
        self._stage = stage
        self._pools = pools
        self._committer = committer
        self._attempts = attempts
        self._failed = failed
        self._freed = freed
        self._fatal = fatal
        self._lock = Lock()  # never held while anybody else is called

    def came(self, task: Task, result: Done | Exception, answer: Answer) -> None:
        if not self._is_first(task):
            answer("stale")
        elif isinstance(result, Done):
            self._hand_in(task, result, lambda task, error: self._conclude(task, error, answer))
        else:
            self._ended(task, result, answer)

    def overdue(self, task: Task, error: RetryLater) -> None:
        """Somebody is still at work on it, and nobody waits for that any more."""
        if self._is_first(task):
            self._ended(task, error, nobody)

    def _is_first(self, task: Task) -> bool:
        """A task comes back once: with its result, or because that has not come."""
        with self._lock:
            if task.seconds is None:
                task.seconds = time.monotonic() - task.begun
                return True
            return False

    def give_up(self, uris: Sequence[str], reason: str) -> int:
        """Those of these that wait here fail now, all for one reason; how many."""
        given_up = 0
        for first in range(0, len(uris), MOST_AT_ONCE):
            some = uris[first : first + MOST_AT_ONCE]
            for task in self._pools.lease_begun(self._stage, some, len(some)):
                self._give_up(task, reason, nobody)
                given_up += 1
        self._fill_places()
        return given_up

    def _hand_in(self, task: Task, done: Done, tell: Tell) -> None:
        self._committer.put(task, done, tell, self._fill_places)

    def _ended(self, task: Task, error: Exception | None, answer: Answer) -> None:
        self._conclude(task, error, answer)
        self._fill_places()

    def _fill_places(self) -> None:
        try:
            self._freed()
        except Fatal as fatal:
            self._fatal(fatal)

    def _conclude(self, task: Task, error: Exception | None, answer: Answer) -> None:
        """The task has moved on, or the error says what becomes of it; its place is free."""
        try:
            self._judge(task, error, answer)
        except Fatal as fatal:
            self._fatal(fatal)

    def _judge(self, task: Task, error: Exception | None, answer: Answer) -> None:
        verdict: Verdict = "again"
        failure: str | None = None
        try:
            if error is None:
                self.rests.answered()
                verdict = "settled"
            elif isinstance(error, TakenBack):
                verdict = "stale"
            else:
                failure = self._settle(task, judged(task, error))
        finally:
            if failure is None:
                answer(verdict)  # in any case: until then the place is not free
        if failure is not None:
            self._give_up(task, failure, answer)

    def _settle(self, task: Task, error: HarvestError) -> str | None:
        """The error says what becomes of the task; if nobody tries it again, why."""
        reason = str(error)
        match error:
            case Fatal():
                self._fatal(error)  # first of all: else this very task would be handed out again
                self._pools.retry_later(task, reason, spent=False)
            case Interrupted():
                self._pools.retry_later(task, reason, spent=False)
            case Died():
                logger.warning("Monitor %s marked uri=%r: %s", self._stage.name, task.uri, reason)
                return REASON if self._pools.died(task, reason) >= MOST else None
            case Unavailable():
                with self._pools.changed:
                    self.rests.begin(reason, error.delay)
                self._pools.retry_later(task, reason, spent=False)
            case ComeBack():
                logger.info("Monitor %s postponed uri=%r: %s", self._stage.name, task.uri, reason)
                self._pools.retry_later(task, reason, error.delay, spent=False)
            case RetryLater() if self._has_attempts(task):
                delay = FIRST_RETRY_S * 2**task.attempts * random.uniform(0.5, 1.5)
                delay = min(error.delay or delay, LONGEST_RETRY_S)
                logger.info("Monitor %s postponed uri=%r: %s", self._stage.name, task.uri, reason)
                self._pools.retry_later(task, reason, delay)
            case RetryLater():
                return f"{reason} (after {self._attempts} attempts)"
            case _:
                return reason
        return None

    def _has_attempts(self, task: Task) -> bool:
        """Besides the one that it spends now."""
        return task.attempts + 1 < self._attempts

    def _give_up(self, task: Task, reason: str, answer: Answer) -> None:
        """What the job stores of it comes home first; of most nothing is, and nobody waits."""
        logger.warning("Monitor %s failed uri=%r: %s", self._stage.name, task.uri, reason)
        if (records := self._failed(task, reason)) is None:
            self._park(task, reason, answer)
            return

        def tell(task: Task, error: Exception | None) -> None:
            if error is not None and self._can_wait(task, error):
                self._conclude(task, error, answer)
            else:
                self._park(task, reason if error is None else _unstored(reason, error), answer)

        self._hand_in(task, Done("failed", records=records, reason=reason), tell)

    def _park(self, task: Task, reason: str, answer: Answer) -> None:
        """In `failed`, unless it is there already."""
        try:
            self._pools.give_up(task, reason)
        except Fatal as fatal:
            self._fatal(fatal)
        finally:
            answer("settled")

    def _can_wait(self, task: Task, error: Exception) -> bool:
        """What this error kept from being stored may come again."""
        if isinstance(error, RetryLater):
            return self._has_attempts(task)
        return isinstance(error, TakenBack | Unavailable | Interrupted | ComeBack | Fatal)
