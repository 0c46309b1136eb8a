"""One run of a job: its monitors, the requests of its user, a clean end.

Signals only leave a note; the main thread reads the notes. First SIGINT or SIGTERM: nothing new is
handed out, running tasks get a grace time and then go back to their pools. Second: gone at once,
the state is intact as always.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from types import FrameType
from typing import Literal, NamedTuple

from ..errors import Fatal, UsageError
from ..journal.allowed import allowed_fact
from ..journal.facts import NOTHING_YET, PAUSED, next_round_of, pause_of
from ..journal.instance import SIGNALS
from ..journal.pauses import Paused, paused_fact, slots_fact
from .committer import Committer
from .executor import Executor
from .job import Job
from .marks import REASON
from .monitor import Monitor
from .pools import Pools
from .receiver import receiver
from .stage import Finisher, Task
from .threads import ThreadExecutor

logger = logging.getLogger(__name__)

TICK_S = 0.2
FATAL_GRACE_S = 1.0  # what cannot be stored cannot end well
STORE_PATIENCE_S = 10.0
SET_BACK_S = 60.0  # so far behind, and 1 %, a wall clock may be: more was not its drift
DONE, NOTHING_LEFT = USUAL = ("done", "nothing was left to do")


class Request(NamedTuple):
    """Something to do for the main thread; without a stage it is for all, without a slot for all of
    its workers."""

    verb: Literal["pause", "resume", "stop", "look"]
    stage: str | None = None
    slot: int | None = None

    def __str__(self) -> str:
        return " ".join(str(word) for word in self if word is not None)


class Harvest:
    def __init__(
        self,
        job: Job,
        pools_file: Path,
        stop: Event,
        attempts: int,
        grace_s: float,
        executor: Executor | None = None,
        notes: SimpleQueue[Request] | None = None,
    ) -> None:
        """Without an executor threads of this process do the work. `notes` are those of the round
        before, if there was one: what is asked between two rounds is done in the next."""
        self.job = job
        self.pools = Pools(pools_file, job.stages)
        self.stop = stop  # set: whoever waits for something gives up waiting
        self._file = pools_file
        self._grace_s = grace_s
        self.notes: SimpleQueue[Request] = SimpleQueue() if notes is None else notes
        self._take_back_at: float | None = None
        self.fatal: Fatal | None = None  # what ends it
        self.has_worked = False
        self.paused_since: float | None = None  # by the wall clock
        self.verdict = DONE
        self._committer = Committer(self.pools, job.store, self._note_end)
        self.executor = executor or ThreadExecutor(job.stages, job.workers)
        self.monitors = self._monitors(attempts)
        self.executor.open(receiver(self.pools, self.monitors))

    def _monitors(self, attempts: int) -> list[Monitor]:
        monitors: list[Monitor] = []
        for stage in (each for each in self.job.stages if each.name in self.job.workers):
            work, before = self.job.workers[stage.name], tuple(monitors)
            monitors.append(
                Monitor(
                    stage,
                    self.pools,
                    self.executor,
                    self._committer,
                    attempts,
                    self._note_end,
                    before,
                    work.begun if isinstance(work, Finisher) else tuple,
                    self._record_of_failure,
                )
            )
        return monitors

    def run(self, *ticks: Callable[[], None]) -> None:
        """Harvest until there is no more work or somebody stops it; raises what ended it badly.

        `ticks` are called a few times a second."""
        self._check_identity()
        self.listen_for_pauses()
        self._listen_for_stops()
        new = self.pools.discover(*self.job.seeds)
        self._call(ticks)
        self._tell_of_killers()
        self._committer.start()
        for monitor in self.monitors:
            monitor.start()
        while any(monitor.is_alive() for monitor in self.monitors):
            self._obey(self._next_note())
            self._call(ticks)
        if self.fatal is not None:
            raise self.fatal
        self.pools.make_durable()
        self.has_worked = bool(new) or self.pools.leases > 0
        if not self.has_worked:
            self.verdict = NOTHING_LEFT
        if self.has_work():
            self.verdict = "the limit is reached; a larger one goes on from here"
        if self.was_stopped:
            self.verdict = "stopped; the same command goes on from here"

    def wait_until(self, moment: float) -> bool:
        """After a round nothing is handed out until then, by the wall clock, or longer if it makes
        a pause; a clock that is set back makes it hardly longer. False if somebody stops it."""
        self.pools.remember(next_round_of(os.getpid(), moment))
        latest = time.monotonic() + 1.01 * (moment - time.time()) + SET_BACK_S
        while not self.was_stopped and (
            self.paused_since is not None or (time.time() < moment and time.monotonic() < latest)
        ):
            self._obey(self._next_note())
        return not self.was_stopped

    def has_work(self) -> bool:
        return any(self.pools.count(monitor.stage.waiting) for monitor in self.monitors)

    def at_quiet_point(self, work: Callable[[], None]) -> None:
        """Do this at a moment when whatever is finished is in graph, books and pools."""
        self._committer.at_quiet_point(work, STORE_PATIENCE_S)

    @property
    def was_stopped(self) -> bool:
        return self._take_back_at is not None

    def _call(self, ticks: Sequence[Callable[[], None]]) -> None:
        try:
            for tick in ticks:
                tick()
        except Fatal as error:
            self.end(error)

    def end(self, error: Fatal) -> None:
        """Nothing more is handed out from now on. Whatever runs has a moment, then `run` raises
        this."""
        self.fatal = self.fatal or error
        for monitor in self.monitors:
            monitor.stop()
        self.notes.put(Request("stop"))

    def close(self) -> None:
        """A store that does not answer keeps its thread, and the pools as they are on disk."""
        self.executor.close(0.0)  # `run` gave them their time
        if not self._committer.is_alive() or self._committer.close(STORE_PATIENCE_S):
            self.pools.close()
        else:
            logger.warning("the graph does not answer: what it was given is harvested again")

    def give_up(self, stage: str, uris: Sequence[str], reason: str) -> int:
        """Those of these that wait in this stage fail now, such as all of a host; how many."""
        return sum(each.give_up(uris, reason) for each in self.monitors if each.stage.name == stage)

    def _record_of_failure(self, task: Task, reason: str) -> object:
        try:
            return self.job.failed(task, reason)
        except Exception:
            logger.exception("what failed is not stored: %s uri=%r", task.stage.name, task.uri)
            return None

    def _tell_of_killers(self) -> None:
        """Whoever killed its process could not be brought home: it is done at every start, for this
        one too may be killed before."""
        told = (self._record_of_failure(task, REASON) for task in self.pools.killers())
        if records := [record for record in told if record is not None]:
            self.job.store(records)

    def _check_identity(self) -> None:
        """A state folder belongs to one harvest."""
        known = self.pools.remembered()
        require_same(self._file.parent, known, self.job.identity())
        for key, value in self.job.choices().items():
            if known.get(key, value) != value:
                shown = self.job.description.choice_for_people
                before, now = (shown(key, each) for each in (known[key], value))
                text = "%s changed from %s to %s; what is finished is kept as it is"
                logger.warning(text, key, before, now)
        new = {**self.job.identity(), **self.job.choices()}
        new = {key: value for key, value in new.items() if key not in known}
        slots = slots_fact({each.stage.name: each.stage.workers for each in self.monitors})
        allowed = allowed_fact(self.job.allowed())
        self.pools.remember(new | slots | allowed | NOTHING_YET)  # a killed one may have made some

    # --- notes -----------------------------------------------------------------------------

    def ask(self, request: Request) -> None:
        """From any thread: it is done in a moment."""
        self.notes.put(request)

    def listen_for_pauses(self) -> None:
        """What is asked for before `run` is done as soon as it runs."""
        for request in (Request("pause"), Request("resume")):
            signal.signal(SIGNALS[request.verb], self._handler(request))

    def _listen_for_stops(self) -> None:
        for number in (SIGNALS["stop"], signal.SIGINT):
            signal.signal(number, self._handler(Request("stop")))
        if sys.__stderr__ is not None:
            faulthandler.register(signal.SIGQUIT, file=sys.__stderr__, all_threads=True)

    def _handler(self, request: Request) -> Callable[[int, FrameType | None], None]:
        def leave_note(_number: int, _frame: FrameType | None) -> None:
            if request.verb == "stop" and self.stop.is_set():
                os._exit(130)
            if request.verb == "stop":
                self.stop.set()
            self.notes.put(request)

        return leave_note

    def _note_end(self, error: Fatal | None) -> None:
        if error is None:
            self.notes.put(Request("look"))
        else:
            self.end(error)

    def _next_note(self) -> Request:
        try:
            return self.notes.get(timeout=TICK_S)
        except Empty:
            return Request("look")

    def _obey(self, request: Request) -> None:
        if request.verb == "stop" and self._take_back_at is None:
            self._begin_to_stop(FATAL_GRACE_S if self.fatal else self._grace_s)
        elif request.verb in ("pause", "resume"):
            self._pause(request)
        if self._take_back_at is not None and time.monotonic() >= self._take_back_at:
            for monitor in self.monitors:
                monitor.take_back()

    def _pause(self, request: Request) -> None:
        """Or go on. It is written down for whoever looks from outside."""
        logger.warning("%s on request", request)
        for monitor in self.monitors:
            if request.stage in (None, monitor.stage.name):
                change = monitor.pause if request.verb == "pause" else monitor.resume
                change(request.slot)
        is_paused = all(monitor.is_paused for monitor in self.monitors)
        self.paused_since = (self.paused_since or time.time()) if is_paused else None
        since, slots = self.paused_since, paused_fact(os.getpid(), self.paused_slots)
        try:
            whole = pause_of(os.getpid(), since) if since else {PAUSED: ""}
            self.pools.remember(whole | slots)
        except Fatal as error:
            self.end(error)

    @property
    def paused_slots(self) -> Paused:
        """By stage, the numbers of the workers that make a pause."""
        return {each.stage.name: each.paused for each in self.monitors if each.paused}

    def _begin_to_stop(self, grace_s: float) -> None:
        """Waits end at once (the event), requests under way get the grace time."""
        logger.warning("stopping: running tasks have %.0f s", grace_s)
        self.stop.set()
        self._take_back_at = time.monotonic() + grace_s
        for monitor in self.monitors:
            monitor.stop()


def require_same(state: Path, known: Mapping[str, str], identity: Mapping[str, str]) -> None:
    """UsageError if a state says of itself that it holds something else."""
    for key, value in identity.items():
        if known.get(key, value) != value:
            raise UsageError(
                f"{state} holds a harvest of {known[key]}, not of {value}: give another --state, "
                f"or --fresh to set the old one aside"
            )
