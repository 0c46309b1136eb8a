"""Decides what of one stage is handed out when.

Promise: never more tasks at once than the stage allows; a task that ends frees its place at once;
the monitor ends exactly when there can be no more work. A source that answers nobody makes the
stage wait with growing pauses and spends nobody's attempts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from threading import Thread

from ..errors import Fatal, StopHarvest
from .committer import Committer
from .executor import Answer, Executor
from .pools import Pools
from .returns import Failed, Returns, no_record
from .stage import Done, Stage, Task

logger = logging.getLogger(__name__)

LONG_HOLD_S = 300.0  # for a shorter one nobody is ended with less than it could get
LONGEST_WAIT_S = 30.0  # a wait is only ever a hint: state is looked at again after it


class Monitor(Thread):
    def __init__(
        self,
        stage: Stage,
        pools: Pools,
        executor: Executor,
        committer: Committer,
        attempts: int,
        on_end: Callable[[Fatal | None], None],
        feeders: Sequence[Monitor] = (),
        begun: Callable[[], Sequence[str]] = tuple,
        failed: Failed = no_record,
    ) -> None:
        """`begun` names URIs that something has been gathered for."""
        super().__init__(name=f"monitor {stage.name}", daemon=True)
        self.stage = stage
        self._pools = pools
        self._executor = executor
        self._begun = begun
        self._on_end = on_end
        self._feeders = feeders
        self._is_paused = False
        self._is_stopping = False
        self._holds: dict[str, str] = {}  # who holds it, and why
        self._held_since = 0.0
        self._returns = Returns(
            stage, pools, committer, attempts, failed, self._hand_out, self._end_at_once
        )

    # --- asked from outside ----------------------------------------------------------------

    def pause(self) -> None:
        self._set(is_paused=True)
        self._executor.recall(self.stage.name)

    def resume(self) -> None:
        self._set(is_paused=False)

    def stop(self) -> None:
        """Hand out nothing more; tasks that run may finish."""
        self._set(is_stopping=True)
        self._executor.recall(self.stage.name)

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
        if reason is not None:
            self._executor.recall(self.stage.name)

    @property
    def outage(self) -> tuple[float, str]:
        """For how long nobody has got an answer, and why; 0 if somebody does."""
        return self._returns.rests.outage

    def feed(self, more: Sequence[Monitor]) -> None:
        """These bring it work too, though they come after it."""
        self._feeders = (*self._feeders, *more)

    def is_over(self, asking: frozenset[str] = frozenset()) -> bool:
        """Nothing runs, nothing waits here or may still come from those that feed this stage; where
        they feed each other in a circle, those who are asking already are not asked again."""
        with self._pools.changed:
            if self._pools.count(self.stage.active):
                return False
            if self._is_stopping or self._is_limit_reached():
                return True
            waiting = self._pools.count(self.stage.waiting)
            asking = asking | {self.stage.name}
            others = (each for each in self._feeders if each.stage.name not in asking)
            return not waiting and all(feeder.is_over(asking) for feeder in others)

    def take_back(self) -> int:
        """Return what still runs to its pool; what is brought later is ignored."""
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
        self._executor.recall(self.stage.name)  # nobody has to wait for more

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
        while self._give():
            pass

    def _give(self) -> list[Task]:
        with self._pools.changed:  # in one step: nobody sees a task that has no holder yet
            if tasks := self._lease():
                for task in tasks:
                    logger.debug("Monitor %s hands out %s", self.stage.name, task.uri)
                self._executor.give(tasks)
            return tasks

    def _lease(self) -> list[Task]:
        if places := self._free_places():
            return self._pools.lease(self.stage, places)
        if self._is_held_long() and (places := self._places()):
            return self._pools.lease_begun(self.stage, self._begun(), places)
        return []

    def _is_held_long(self) -> bool:
        return bool(self._holds) and time.monotonic() - self._held_since >= LONG_HOLD_S

    def _free_places(self) -> int:
        """For what has not begun."""
        return 0 if self._holds else self._places()

    def _places(self) -> int:
        if self._is_paused or self._is_stopping or self._returns.rests.seconds_left:
            return 0
        places = min(self.stage.workers, self._executor.places(self.stage.name))
        if self._returns.rests:  # one task goes ahead
            places = min(places, 1)
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
        if rest := self._returns.rests.seconds_left:
            waits.append(rest)
        return min(waits)

    def _set(self, **flags: bool) -> None:
        with self._pools.changed:
            for name, value in flags.items():
                setattr(self, f"_{name}", value)
            self._pools.changed.notify_all()

    # --- what comes back -------------------------------------------------------------------

    def came(self, task: Task, result: Done | Exception, answer: Answer) -> None:
        self._returns.came(task, result, answer)

    def give_up(self, uris: Sequence[str], reason: str) -> int:
        """Those of these that wait here fail now, all for one reason; how many."""
        return self._returns.give_up(uris, reason)

    def _end_at_once(self, error: Fatal) -> None:
        self.stop()
        self._on_end(error)
