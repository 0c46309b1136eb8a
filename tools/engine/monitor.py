"""Decides what of one stage is handed out when.

Promise: never more tasks at work than the stage allows; a task that ends frees its place at once;
the monitor ends exactly when there can be no more work. A source that answers nobody makes the
stage wait with growing pauses and spends nobody's attempts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from threading import Thread

from ..errors import Fatal, RetryLater, StopHarvest
from .committer import Committer
from .executor import Answer, Executor, place_of
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
        before: Sequence[Monitor] = (),
        begun: Callable[[], Sequence[str]] = tuple,
        failed: Failed = no_record,
    ) -> None:
        """`before` are the monitors of the stages before this one, `begun` names URIs that
        something has been gathered for."""
        super().__init__(name=f"monitor {stage.name}", daemon=True)
        self.stage = stage
        self._pools = pools
        self._executor = executor
        self._begun = begun
        self._on_end = on_end
        self._peers = list(before)
        for peer in before:
            peer._peers.append(self)
        self._before = before[-1] if before else None
        self._next: Monitor | None = None
        if self._before is not None:
            self._before._next = self
        self._paused: frozenset[int] = frozenset()  # numbers of places
        self._is_stopping = False
        self._holds: dict[str, str] = {}  # who holds it, and why
        self._held_since = 0.0
        self._returns = Returns(
            stage, pools, committer, attempts, failed, self._hand_out, self._end_at_once
        )

    # --- asked from outside ----------------------------------------------------------------

    @property
    def slots(self) -> range:
        """The numbers of its places."""
        return range(1, self.stage.workers + 1)

    @property
    def paused(self) -> Sequence[int]:
        """The numbers of those that make a pause."""
        return sorted(self._paused)

    @property
    def is_paused(self) -> bool:
        return len(self._paused) == self.stage.workers

    def pause(self, slot: int | None = None) -> None:
        """One place, or all: what is at work there ends its step, and gets no other."""
        self._let_rest(self._paused.union(self.slots if slot is None else [slot]))

    def resume(self, slot: int | None = None) -> None:
        self._let_rest(self._paused.difference(self.slots if slot is None else [slot]))

    def _let_rest(self, slots: frozenset[int]) -> None:
        with self._pools.changed:
            self._paused = slots.intersection(self.slots)
            self._executor.rest(self.stage.name, self._paused)
            self._pools.changed.notify_all()
        if self.is_paused:
            self._executor.recall(self.stage.name)

    def stop(self) -> None:
        """Hand out nothing more; tasks that run may finish."""
        with self._pools.changed:
            self._is_stopping = True
            self._pools.changed.notify_all()
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

    def is_over(self) -> bool:
        """Nothing runs, nothing waits here, and none may still come: any stage may find work for
        any other."""
        with self._pools.changed:
            if not self._is_at_rest():
                return False
            return self._is_closed() or all(peer._is_at_rest() for peer in self._peers)

    def _is_at_rest(self) -> bool:
        if self._pools.count(self.stage.active):
            return False
        return self._is_closed() or not self._pools.count(self.stage.waiting)

    def _is_closed(self) -> bool:
        """Whatever waits, no more is handed out."""
        return self._is_stopping or self._is_limit_reached()

    def take_back(self) -> int:
        """Return what still runs to its pool; what is brought later is ignored."""
        tasks = self._pools.tasks(self.stage)
        for task in tasks:
            self._pools.retry_later(task, "the harvest was stopped", spent=False)
        return len(tasks)

    def take_back_overdue(self, longest_s: float) -> int:
        """What is at work for longer goes back, an attempt spent; what it brings later is ignored.
        Its place stays its own until then. How many did."""
        begun_before = time.monotonic() - longest_s
        tasks = [
            task
            for task in self._pools.tasks(self.stage)
            if task.holder and task.seconds is None and task.begun < begun_before
        ]
        for task in tasks:
            self._returns.overdue(task, RetryLater(f"not done within {longest_s:,.0f} s"))
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
                self._pools.changed.notify_all()  # the other monitors look again
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
                if self._before is not None and self._before.stage.queue is not None:
                    self._pools.changed.notify_all()  # it may have waited for this
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
        return 0 if self._holds or self._is_next_crowded() else self._places()

    def _is_next_crowded(self) -> bool:
        """As much as may waits for the next stage, and it can go on with that: if it cannot, be it
        for delays or its limit, nobody waits for it."""
        queue, next_ = self.stage.queue, self._next
        if queue is None or next_ is None:
            return False
        is_full = self._pools.count(next_.stage.waiting) >= queue
        return is_full and not next_._is_closed() and self._pools.is_ready(next_.stage)

    def _places(self) -> int:
        if self.is_paused or self._is_stopping or self._returns.rests.seconds_left:
            return 0
        going = self.stage.workers - len(self._paused)
        places = min(going, self._executor.places(self.stage.name)) * self.stage.ahead
        if self._returns.rests:  # one task goes ahead
            places = min(places, 1)
        active = self._pools.count(self.stage.active)
        free = places - active + self._ending()
        if self.stage.limit is not None:
            free = min(free, self.stage.limit - self._pools.done(self.stage) - active)
        return max(0, free)

    def _ending(self) -> int:
        """How many are still at work in places that make a pause: they take nobody's place."""
        if not self._paused:
            return 0
        names = {place_of(self.stage.name, number) for number in self._paused}
        return sum(task.holder in names for task in self._pools.tasks(self.stage))

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

    # --- what comes back -------------------------------------------------------------------

    def came(self, task: Task, result: Done | Exception, answer: Answer) -> None:
        self._returns.came(task, result, answer)

    def give_up(self, uris: Sequence[str], reason: str) -> int:
        """Those of these that wait here fail now, all for one reason; how many."""
        return self._returns.give_up(uris, reason)

    def _end_at_once(self, error: Fatal) -> None:
        self.stop()
        self._on_end(error)
