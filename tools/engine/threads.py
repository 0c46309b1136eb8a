"""Works on tasks in threads of this process: a thread for each task that is at work."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from queue import SimpleQueue
from threading import Lock, Thread

from ..errors import Interrupted, Unavailable
from .executor import Answer, Came, Member, Verdict, nobody, place_of
from .luggage import Luggage
from .stage import Done, Kind, Stage, Task, Worker

logger = logging.getLogger(__name__)


class ThreadExecutor:
    """The Executor of one process."""

    def __init__(self, stages: Iterable[Stage], workers: Mapping[str, Worker]) -> None:
        at_work = [stage for stage in stages if stage.name in workers]
        luggage = Luggage(at_work)
        self._stages = {
            stage.name: STAFF[stage.kind](stage, workers[stage.name], luggage) for stage in at_work
        }

    def open(self, came: Came) -> None:
        for threads in self._stages.values():
            threads.came = came

    def places(self, stage: str) -> int:
        return self._stages[stage].places

    def give(self, tasks: Sequence[Task]) -> None:
        for stage in dict.fromkeys(task.stage.name for task in tasks):
            self._stages[stage].give([task for task in tasks if task.stage.name == stage])

    def recall(self, stage: str) -> None:
        self._stages[stage].recall()

    def rest(self, stage: str, numbers: Collection[int]) -> None:
        self._stages[stage].rest(numbers)

    def members(self) -> Sequence[Member]:
        stages = self._stages.items()
        places = {name: threads.places for name, threads in stages}
        return [Member("this process", places, {name: each.at_work() for name, each in stages})]

    def close(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        for threads in self._stages.values():
            threads.recall()
        for threads in self._stages.values():
            threads.join(deadline)


class PlaceThread(Thread):
    """Works on one task at a time and then waits to be given the next.

    A new thread for each task spent half of the processor's time on setting up and tearing down its
    stack, with both cores waiting for each other.
    """

    def __init__(self, stage: str, number: int, work: Callable[[PlaceThread, Task], None]) -> None:
        super().__init__(name=f"{stage} {number}", daemon=True)
        self.number = number
        self.place = place_of(stage, number)  # the holder of its task
        self._work = work
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()

    def give(self, task: Task | None) -> None:
        """The next task; None is the end."""
        self._tasks.put(task)
        if self.ident is None:  # never begun; one that was told to end may have ended already
            self.start()

    def run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._work(self, task)


class StageThreads:
    """The places of one stage. A place has a thread from its first task until it is recalled."""

    came: Came

    def __init__(self, stage: Stage, work: Worker, luggage: Luggage) -> None:
        self._places = stage.workers
        self._resting: frozenset[int] = frozenset()
        self._stage = stage.name
        self._work = work
        self._luggage = luggage
        self._lock = Lock()  # never held while anybody else is called
        self._unbegun: deque[Task] = deque()
        self._idle: list[PlaceThread] = []
        self._busy: set[PlaceThread] = set()
        self._numbers = set(range(1, stage.workers + 1))  # of places without a thread
        self._is_recalled = False

    @property
    def places(self) -> int:
        return self._places - len(self._resting)

    def at_work(self) -> int:
        return len(self._busy)

    def rest(self, numbers: Collection[int]) -> None:
        with self._lock:
            self._resting = frozenset(numbers)
        self._begin()

    def give(self, tasks: Sequence[Task]) -> None:
        with self._lock:
            self._is_recalled = False
            self._unbegun.extend(tasks)
        self._begin()

    def recall(self) -> None:
        with self._lock:
            self._is_recalled = True
            unbegun, self._unbegun = self._unbegun, deque()
            idle, self._idle = self._idle, []
            for thread in idle:
                self._numbers.add(thread.number)
        for thread in idle:
            thread.give(None)
        for task in unbegun:
            self.came(task.token, "", Interrupted("recalled before anybody began"), nobody)

    def join(self, deadline: float) -> None:
        """Wait for what is at work."""
        for thread in list(self._busy):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self) -> None:
        """Fill the free places with what waits for one."""
        while begun := self._next():
            thread, task = begun
            try:
                thread.give(task)
            except RuntimeError as error:  # the system gives no more threads now
                with self._lock:
                    self._busy.discard(thread)
                    self._numbers.add(thread.number)
                self.came(task.token, thread.place, Unavailable(str(error)), nobody)

    def _next(self) -> tuple[PlaceThread, Task] | None:
        with self._lock:
            thread = self._free_thread() if self._unbegun else None
            if thread is None:
                return None
            self._busy.add(thread)
            return thread, self._begun_by(thread)

    def _free_thread(self) -> PlaceThread | None:
        """One that is idle, or a new one for a place that has none; not of those that rest."""
        for at in reversed(range(len(self._idle))):
            if self._idle[at].number not in self._resting:
                return self._idle.pop(at)
        if number := min((n for n in self._numbers if n not in self._resting), default=None):
            self._numbers.remove(number)
            return PlaceThread(self._stage, number, self._run)
        return None

    def _begun_by(self, thread: PlaceThread) -> Task:
        task = self._unbegun.popleft()
        task.holder, task.begun = thread.place, time.monotonic()
        return task

    # --- a place's own thread --------------------------------------------------------------

    def _run(self, thread: PlaceThread, task: Task) -> None:
        """No frame below keeps the result: an error's traceback would keep it in turn, with all
        that the worker had open."""
        thread.name = f"{self._stage} {task.uri}"  # for whoever looks at what all threads do
        attempt = task.attempts + 1
        task.luggage = self._luggage.fetch(task)
        logger.debug("Worker %s begins %s (attempt %d)", self._stage, task.uri, attempt)
        self._bring(thread, task, time.monotonic(), self._result(task))

    def _result(self, task: Task) -> Done | Exception:
        """The one catch-all: whatever happens, the task comes back."""
        try:
            return self._work(task)
        except Exception as error:
            return error

    def _bring(
        self, thread: PlaceThread, task: Task, begun: float, result: Done | Exception
    ) -> None:
        self._tell(task, begun, result)
        self._hand_in(thread, task, result, lambda _verdict: self._free(thread))

    def _tell(self, task: Task, begun: float, result: Done | Exception) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            found = result.reason_group if isinstance(result, Done) else repr(result)
            seconds = time.monotonic() - begun
            text = "Worker %s ends %s after %.3f s: %s"
            logger.debug(text, self._stage, task.uri, seconds, found)

    def _hand_in(
        self, thread: PlaceThread, task: Task, result: Done | Exception, answer: Answer
    ) -> None:
        task.luggage = None
        if isinstance(result, Done) and result.luggage is not None:
            answer = self._leaving(task, result, answer)
        self.came(task.token, thread.place, result, answer)

    def _leaving(self, task: Task, done: Done, answer: Answer) -> Answer:
        """The next stage may begin before this place has its answer."""

        def answered(verdict: Verdict) -> None:
            if verdict != "settled":
                self._luggage.drop(task, done)
            answer(verdict)

        self._luggage.leave(task, done)
        return answered

    def _free(self, thread: PlaceThread) -> None:
        """Its result was answered: only now does the name stand for nothing, or for the next."""
        with self._lock:
            task = None
            if self._unbegun and thread.number not in self._resting:
                task = self._begun_by(thread)
            else:
                self._busy.discard(thread)
                self._idle_or_end(thread)
            is_over = self._is_recalled
        if task is not None or is_over:
            thread.give(task)

    def _idle_or_end(self, thread: PlaceThread) -> None:
        if self._is_recalled:
            self._numbers.add(thread.number)
        else:
            self._idle.append(thread)


class ComputingThreads(StageThreads):
    """A place is free as soon as its result is handed in: whoever computes needs the processor, and
    would wait for the disk instead. How many results may be under way decides who gives tasks."""

    def _bring(
        self, thread: PlaceThread, task: Task, begun: float, result: Done | Exception
    ) -> None:
        self._tell(task, begun, result)
        self._hand_in(thread, task, result, nobody)
        self._free(thread)


STAFF: Mapping[Kind, type[StageThreads]] = {"waits": StageThreads, "computes": ComputingThreads}
"""Who works on a stage of each kind."""
