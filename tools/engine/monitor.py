"""Hands out one stage's tasks to worker threads: a thread for each task that is at work.

Promise: never more tasks at once than the stage allows; a task that ends frees its place at once;
the monitor ends exactly when there can be no more work. A source that answers nobody makes the
stage wait with growing pauses and spends nobody's attempts.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import cast

from ..errors import (
    NO_FILES,
    ComeBack,
    Fatal,
    GiveUp,
    HarvestError,
    Interrupted,
    RetryLater,
    StopHarvest,
    Unavailable,
    no_more_files,
)
from .committer import Committer
from .pools import Pools
from .stage import Finisher, Stage, Task, Worker

logger = logging.getLogger(__name__)

FIRST_RETRY_S = 2.0
LONGEST_RETRY_S = 3600.0
FIRST_REST_S = 1.0
LONGEST_REST_S = 300.0
LONG_HOLD_S = 300.0  # for a shorter one nobody is ended with less than it could get
LONGEST_WAIT_S = 30.0  # a wait is only ever a hint: state is looked at again after it


class WorkerThread(Thread):
    """Works on one task at a time and then waits to be given the next.

    A new thread for each task spent half of the processor's time on setting up and tearing down its
    stack, with both cores waiting for each other.
    """

    def __init__(self, work: Callable[[Task], None], idle: list[WorkerThread]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._idle = idle
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()

    def give(self, task: Task | None) -> None:
        """The next task; None is the end."""
        self._tasks.put(task)
        if self.ident is None:  # never begun; one that was told to end may have ended already
            self.start()

    def run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._work(task)
            self._idle.append(self)


class Monitor(Thread):
    def __init__(
        self,
        stage: Stage,
        pools: Pools,
        work: Worker,
        committer: Committer,
        attempts: int,
        on_end: Callable[[Fatal | None], None],
        feeders: Sequence[Monitor] = (),
    ) -> None:
        super().__init__(name=f"monitor {stage.name}", daemon=True)
        self.stage = stage
        self._pools = pools
        self._work = work
        self._committer = committer
        self._attempts = attempts
        self._on_end = on_end
        self._feeders = feeders
        self._is_paused = False
        self._is_stopping = False
        self._holds: dict[str, str] = {}  # who holds it, and why
        self._held_since = 0.0
        self._rests = 0  # pauses in a row since somebody last got an answer
        self._rest_until = 0.0
        self._outage: tuple[float, str] | None = None  # since when, and why
        self._idle: list[WorkerThread] = []  # taken from and given back to in single steps

    # --- asked from outside ----------------------------------------------------------------

    def pause(self) -> None:
        self._set(is_paused=True)

    def resume(self) -> None:
        self._set(is_paused=False)

    def stop(self) -> None:
        """Hand out nothing more; tasks that run may finish."""
        self._set(is_stopping=True)

    def hold(self, holder: str, reason: str | None) -> None:
        """Begin nothing while anybody has a reason; if that takes long, what has begun is ended
        with what it has. None: this one has no reason any more."""
        with self._pools.changed:
            if not self._holds:
                self._held_since = time.monotonic()
            self._holds.pop(holder, None)
            if reason is not None:
                self._holds[holder] = reason
            self._pools.changed.notify_all()

    @property
    def outage(self) -> tuple[float, str]:
        """For how long nobody has got an answer, and why; 0 if somebody does."""
        since, reason = self._outage or (time.monotonic(), "")
        return time.monotonic() - since if reason else 0.0, reason

    def is_over(self) -> bool:
        """Nothing runs, nothing waits here or may still come from the stages before."""
        with self._pools.changed:
            if self._pools.count(self.stage.active):
                return False
            if self._is_stopping or self._is_limit_reached():
                return True
            waiting = self._pools.count(self.stage.waiting)
            return not waiting and all(feeder.is_over() for feeder in self._feeders)

    def take_back(self) -> int:
        """Return what still runs to its pool; what those threads bring later is ignored."""
        tasks = self._pools.tasks(self.stage)
        for task in tasks:
            self._pools.retry_later(task, "the harvest was stopped", spent=False)
        return len(tasks)

    # --- the monitor's own thread ----------------------------------------------------------

    def run(self) -> None:
        """Hand out whenever something changes, until there can be no more work."""
        try:
            while not self._wait_for_change():
                self._hand_out()
        except Fatal as error:
            self._on_end(error)
        except Exception as error:  # a bug here would leave everybody waiting
            logger.exception("Monitor %s", self.stage.name)
            self._on_end(StopHarvest(f"a bug in Sheaf: {error!r}"))
        else:
            self._on_end(None)
        while self._idle:
            self._idle.pop().give(None)

    def _wait_for_change(self) -> bool:
        """Wait while nothing can be handed out; is it over?"""
        with self._pools.changed:
            while not (is_over := self.is_over()) and not self._can_hand_out():
                self._pools.changed.wait(self._seconds_to_wait())
            if is_over:
                self._pools.changed.notify_all()  # monitors fed by this one look again
            return is_over

    def _can_hand_out(self) -> bool:
        if self._free_places():
            return self._pools.is_ready(self.stage)
        can_end = self._is_held_long() and self._places() > 0
        return can_end and self._pools.is_waiting(self.stage, self._begun())

    def _hand_out(self) -> None:
        """Fill every free place. Also called when a task has ended, to fill the place it leaves."""
        while tasks := self._lease():
            for task in tasks:
                self._start(task)

    def _lease(self) -> list[Task]:
        with self._pools.changed:  # places are counted and taken in one step
            if places := self._free_places():
                return self._pools.lease(self.stage, self._worker_thread, places)
            if self._is_held_long() and (places := self._places()):
                begun = self._begun()
                return self._pools.lease_begun(self.stage, begun, self._worker_thread, places)
            return []

    def _start(self, task: Task) -> None:
        logger.debug("Monitor %s hands out %s", self.stage.name, task.uri)
        try:
            cast(WorkerThread, task.thread).give(task)
        except RuntimeError as error:  # the system gives no more threads now
            self._settle(task, Unavailable(str(error)))

    def _is_held_long(self) -> bool:
        return bool(self._holds) and time.monotonic() - self._held_since >= LONG_HOLD_S

    def _begun(self) -> Sequence[str]:
        return self._work.begun() if isinstance(self._work, Finisher) else ()

    def _free_places(self) -> int:
        """For what has not begun."""
        return 0 if self._holds else self._places()

    def _places(self) -> int:
        if self._is_paused or self._is_stopping:
            return 0
        if time.monotonic() < self._rest_until:
            return 0
        places = 1 if self._rests else self.stage.workers  # after a rest one task goes ahead
        active = self._pools.count(self.stage.active)
        if self.stage.limit is not None:
            places = min(places, self.stage.limit - self._pools.done(self.stage))
        return max(0, places - active)

    def _is_limit_reached(self) -> bool:
        if self.stage.limit is None:
            return False
        begun = self._pools.done(self.stage) + self._pools.count(self.stage.active)
        return begun >= self.stage.limit

    def _seconds_to_wait(self) -> float:
        waits = [LONGEST_WAIT_S]
        if (due := self._pools.seconds_to_next_due(self.stage)) is not None:
            waits.append(due + 0.001)
        if (rest := self._rest_until - time.monotonic()) > 0:
            waits.append(rest)
        return min(waits)

    def _set(self, **flags: bool) -> None:
        with self._pools.changed:
            for name, value in flags.items():
                setattr(self, f"_{name}", value)
            self._pools.changed.notify_all()

    # --- a worker's thread -----------------------------------------------------------------

    def _worker_thread(self, task: Task) -> Thread:
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = WorkerThread(self._run_task, self._idle)
        worker.name = f"{self.stage.name} {task.uri}"
        return worker

    def _run_task(self, task: Task) -> None:
        """The one catch-all: whatever happens, the URI goes somewhere."""
        attempt = task.attempts + 1
        logger.debug("Worker %s begins %s (attempt %d)", self.stage.name, task.uri, attempt)
        begun = time.monotonic()
        try:
            done = self._work(task)
            if logger.isEnabledFor(logging.DEBUG):
                self._tell_end(task, begun, done.reason_group)
            self._committer.put(task, done, self._ended)
        except Exception as error:
            self._tell_end(task, begun, repr(error))
            self._ended(task, error)

    def _tell_end(self, task: Task, begun: float, found: str) -> None:
        seconds = time.monotonic() - begun
        logger.debug(
            "Worker %s ends %s after %.3f s: %s", self.stage.name, task.uri, seconds, found
        )

    def _ended(self, task: Task, error: Exception | None) -> None:
        """The task has moved on, or the error says what becomes of it; its place is free."""
        try:
            if error is None:
                self._rests, self._outage = 0, None
            elif isinstance(error, HarvestError):
                self._settle(task, error)
            else:
                self._settle(task, self._judge(task, error))
            self._hand_out()
        except Fatal as fatal:
            self._on_end(fatal)

    def _judge(self, task: Task, error: Exception) -> HarvestError:
        """What the system lacks is nobody's fault; what nobody foresaw is a bug."""
        if isinstance(error, OSError) and error.errno in NO_FILES:
            return no_more_files(error)
        if isinstance(error, MemoryError):  # perhaps for this one only: others go on
            return RetryLater("there is not enough memory for it")
        logger.error("Worker %s uri=%r", self.stage.name, task.uri, exc_info=error)  # the evidence
        return GiveUp(f"a bug in Sheaf: {error!r}")

    def _settle(self, task: Task, error: HarvestError) -> None:
        """The error says what becomes of the task."""
        reason = str(error)
        match error:
            case Fatal():
                self.stop()  # first of all: else this very task would be handed out again
                self._on_end(error)
                self._pools.retry_later(task, reason, spent=False)
            case Interrupted():
                self._pools.retry_later(task, reason, spent=False)
            case Unavailable():
                self._rest(reason, error.delay)
                self._pools.retry_later(task, reason, spent=False)
            case ComeBack():
                logger.info("Monitor %s postponed uri=%r: %s", self.stage.name, task.uri, reason)
                self._pools.retry_later(task, reason, error.delay, spent=False)
            case RetryLater() if task.attempts + 1 < self._attempts:
                delay = FIRST_RETRY_S * 2**task.attempts * random.uniform(0.5, 1.5)
                delay = min(error.delay or delay, LONGEST_RETRY_S)
                logger.info("Monitor %s postponed uri=%r: %s", self.stage.name, task.uri, reason)
                self._pools.retry_later(task, reason, delay)
            case RetryLater():
                self._give_up(task, f"{reason} (after {self._attempts} attempts)")
            case _:
                self._give_up(task, reason)

    def _give_up(self, task: Task, reason: str) -> None:
        logger.warning("Monitor %s failed uri=%r: %s", self.stage.name, task.uri, reason)
        self._pools.give_up(task, reason)

    def _rest(self, reason: str, asked: float | None) -> None:
        """The whole stage waits; tasks that were under way together count as one reason."""
        with self._pools.changed:
            if time.monotonic() < self._rest_until:
                return
            self._rests += 1
            self._outage = self._outage or (time.monotonic(), reason)
            pause = min(FIRST_REST_S * 2 ** (self._rests - 1), LONGEST_REST_S)
            pause = max(pause * random.uniform(0.8, 1.2), asked or 0.0)
            self._rest_until = time.monotonic() + pause
            logger.warning("Monitor %s waits %.2f s: %s", self.stage.name, pause, reason)
