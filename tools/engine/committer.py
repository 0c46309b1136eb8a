"""Brings finished tasks home: their records into the store, then their URIs into the next pool.

Promise: a task moves on only after its records are committed. Tasks that finish at the same time
share one transaction of the store and one of the pools: a transaction each is what makes storing
slow. Where they follow each other quickly, the next ones are waited for, a moment at most, unless
nobody is at work any more. One whose records cannot be stored fails alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple

from ..errors import Fatal, StopHarvest, Unavailable
from .pools import Pools
from .stage import Done, Task

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 2000  # measured with Neo4j: fewer cost its rate, more do not raise it

LINGER_S = 0.004  # after a batch, before the next one

Store = Callable[[Sequence[Any]], None]
"""Writes the records of several tasks, all or nothing."""

Tell = Callable[[Task, Exception | None], None]
"""Told of each task when it has moved on (None), or why it has not."""

Freed = Callable[[], None]
"""Called when all of a batch are told, once for all who gave the same: their places are free."""


def _nothing() -> None:
    pass


class TakenBack(Exception):
    """The task went back to its pool meanwhile: what was brought for it comes too late."""


class _Result(NamedTuple):
    task: Task
    done: Done
    tell: Tell
    freed: Freed


@dataclass(slots=True)
class _Errand:
    work: Callable[[], None]
    done: Future[None]

    def __call__(self) -> None:
        if self.done.set_running_or_notify_cancel():
            try:
                self.work()
                self.done.set_result(None)
            except Exception as error:
                self.done.set_exception(error)


class Committer(Thread):
    def __init__(self, pools: Pools, store: Store, on_fatal: Callable[[Fatal], None]) -> None:
        super().__init__(name="settler", daemon=True)
        self._pools = pools
        self._store = store
        self._on_fatal = on_fatal
        self._inbox: SimpleQueue[_Result | _Errand | None] = SimpleQueue()
        self._all_in = Event()  # nobody is at work any more
        self._linger_until = 0.0

    def at_quiet_point(self, work: Callable[[], None], patience_s: float) -> None:
        """Do this when everything handed in before is home, and before anything that follows."""
        if not self.is_alive():
            work()
            return
        done: Future[None] = Future()
        self._inbox.put(_Errand(work, done))
        try:
            done.result(patience_s)
        except TimeoutError:
            if done.cancel():
                raise Unavailable(f"the graph has not answered for {patience_s:.0f} s") from None
            done.result()  # it has begun, and takes a moment only

    def put(self, task: Task, done: Done, tell: Tell, freed: Freed = _nothing) -> None:
        self._inbox.put(_Result(task, done, tell, freed))
        if self._inbox.qsize() >= self._awaited():
            self._all_in.set()

    def close(self, patience_s: float) -> bool:
        """Ends after everything handed in before this; False if the store takes longer."""
        self._inbox.put(None)
        self.join(patience_s)
        return not self.is_alive()

    def run(self) -> None:
        while (first := self._inbox.get()) is not None:
            self._linger()
            batch, then = self._gather(first)
            try:
                if batch:
                    self._settle(batch)
            except Fatal as error:
                self._on_fatal(error)
            except Exception as error:  # a bug here would leave everybody waiting
                logger.exception("the settler")
                self._on_fatal(StopHarvest(f"a bug in Sheaf: {error!r}"))
            if then is None:
                return
            then()
            self._linger_until = time.monotonic() + LINGER_S

    def _linger(self) -> None:
        """For others that come soon."""
        left = self._linger_until - time.monotonic()
        if left > 0:
            self._all_in.clear()
            if self._inbox.qsize() < self._awaited():
                self._all_in.wait(left)

    def _awaited(self) -> int:
        """How many can be in the inbox, beside the one in hand, before places are free again."""
        return self._pools.at_work - 1

    def _gather(self, first: _Result | _Errand) -> tuple[list[_Result], Callable[[], None] | None]:
        """Everything that waits now, up to the limit; and what to do after it, None being the
        end."""
        batch: list[_Result] = []
        result: _Result | _Errand | None = first
        while isinstance(result, _Result):
            batch.append(result)
            if len(batch) == MOST_AT_ONCE:
                return batch, _nothing
            try:
                result = self._inbox.get_nowait()
            except Empty:
                return batch, _nothing
        return batch, result

    def _settle(self, results: Sequence[_Result]) -> None:
        """What was taken back is not stored; if that happens amid storing, it does not move."""
        batch = self._waited_for(results)
        records = [each.done.records for each in batch if each.done.records is not None]
        try:
            if records:
                self._store(records)
        except Exception as error:
            self._settle_failed(batch, error)
            return
        moved = self._move(batch)
        for each in batch:
            each.tell(each.task, None if each.task.token in moved else TakenBack())
        _free(batch)

    def _move(self, batch: Sequence[_Result]) -> set[int]:
        """The tokens of those that were not taken back meanwhile."""
        if logger.isEnabledFor(logging.DEBUG):
            for task, done, *_ in batch:
                logger.debug("moved %s from %s to %s", task.uri, task.stage.active, done.to)
        return self._pools.advance(*((each.task, each.done) for each in batch))

    def _waited_for(self, results: Sequence[_Result]) -> list[_Result]:
        """Without those that were taken back, which are told so."""
        leased = self._pools.still_leased(each.task for each in results)
        for each in results:
            if each.task.token not in leased:
                each.tell(each.task, TakenBack())
                each.freed()
        return [each for each in results if each.task.token in leased]

    def _settle_failed(self, batch: Sequence[_Result], error: Exception) -> None:
        """One task's records may be to blame: alone, each gets its own verdict."""
        if len(batch) == 1 or isinstance(error, Unavailable | Fatal):  # nobody's records are
            for each in batch:
                each.tell(each.task, error)
            _free(batch)
        else:
            for each in batch:
                self._settle([each])


def _free(batch: Iterable[_Result]) -> None:
    for freed in dict.fromkeys(each.freed for each in batch):
        freed()
