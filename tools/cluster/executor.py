"""Works on tasks in processes of this machine: some stages there, all others in threads here.

Promise: a process that dies, is silent or says what cannot be right is replaced, and what it worked
on comes back as Died when it is certainly gone: two never work on the same. Nobody outlives the
harvest. Limits, rests, traffic and what is to be stored stay here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread
from typing import Any, NamedTuple, Protocol

from ..base.backoff import pause_after
from ..engine.executor import Came, Verdict, place_of
from ..engine.executor import Member as Shown
from ..engine.stage import Done, Stage, Task, Worker
from ..engine.threads import ThreadExecutor
from ..errors import Died, HarvestError, Interrupted, RetryLater, Unavailable
from ..network.limits import Limits
from ..network.traffic import Traffic
from .grants import Grants
from .member import Member
from .places import Places
from .wire import (
    FORMAT,
    Answered,
    Ask,
    Back,
    Beat,
    Hello,
    Malformed,
    Message,
    Pause,
    Ready,
    Result,
    Said,
    Stop,
    Table,
    done_of,
    error_of,
    work_of,
)

logger = logging.getLogger(__name__)

LOOK_S = 0.2
SILENT_LOOKS = 150  # our own: whoever was stopped for a while himself has not looked meanwhile
START_LOOKS = 600  # until it is ready
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0  # after one that never was
GONE_S = 10.0


class Cargo(Protocol):
    """What goes along with a stage's tasks, and comes home with what they found."""

    def outgoing(self, task: Task) -> Any: ...

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        """The records of one that is done. ValueError if that cannot be right."""


class Away(NamedTuple):
    """What is done in processes, how many and which program they run."""

    cargoes: Mapping[str, Cargo]  # by stage
    processes: int
    command: Sequence[str]
    job: str = ""
    setup: Table = {}
    limits: Limits | None = None
    traffic: Traffic | None = None


@dataclass(slots=True)
class Fate:
    """How one of the processes fares, over all that take its place."""

    deaths: int = 0
    failures: int = 0  # in a row, before it was ready
    not_before: float = 0.0
    member: Member | None = None


@dataclass(slots=True)
class AtWork:
    task: Task
    number: int  # of its place
    member: Member
    has_come: bool = field(default=False)


class ProcessExecutor:
    """The Executor of one machine."""

    def __init__(
        self, stages: Iterable[Stage], workers: Mapping[str, Worker], away: Away, stop: Event
    ) -> None:
        stages = list(stages)
        here = {name: work for name, work in workers.items() if name not in away.cargoes}
        self._here = ThreadExecutor(stages, here)
        self._away = away
        self._stop = stop
        self._places = {
            stage.name: Places(stage, away.processes)
            for stage in stages
            if stage.name in away.cargoes
        }
        self._fates = [Fate() for _ in range(away.processes)]
        self._at_work: dict[int, AtWork] = {}
        self._changed = Condition()  # its lock is never held while anybody else is called
        self._supervisor = Thread(target=self._supervise, name="processes", daemon=True)
        self._is_closing = self._is_told = False
        everybody = sum(stage.workers for stage in stages if stage.name in away.cargoes)
        self._grants = Grants(away.limits, everybody, self._tell_all) if away.limits else None

    # --- what every executor does ----------------------------------------------------------

    def open(self, came: Came) -> None:
        self._came = came
        self._here.open(came)

    def places(self, stage: str) -> int:
        found = self._places.get(stage)
        return self._here.places(stage) if found is None else found.number

    def give(self, tasks: Sequence[Task]) -> None:
        self._here.give([task for task in tasks if task.stage.name not in self._places])
        with self._changed:
            for task in tasks:
                if task.stage.name in self._places:
                    self._places[task.stage.name].unbegun.append(task)
                    self._start_supervisor()
        self._begin()

    def recall(self, stage: str) -> None:
        if stage not in self._places:
            self._here.recall(stage)
            return
        self._return_unbegun(stage, Interrupted("recalled before anybody began"))

    def rest(self, stage: str, numbers: Collection[int]) -> None:
        if stage not in self._places:
            self._here.rest(stage, numbers)
            return
        with self._changed:
            self._places[stage].resting = frozenset(numbers)
        self._begin()

    def members(self) -> Sequence[Shown]:
        with self._changed:
            shown = [self._shown(number) for number in range(len(self._fates))]
        return [*self._here.members(), *shown]

    def close(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        for stage in self._places:
            self.recall(stage)
        self._here.close(grace_s)
        with self._changed:
            while self._at_work and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(min(left, LOOK_S))
            self._is_closing = True
            self._changed.notify_all()
        if self._supervisor.ident is not None:
            self._supervisor.join(2 * GONE_S)
        if self._grants is not None:
            self._grants.close()

    # --- handing out -----------------------------------------------------------------------

    def _begin(self) -> None:
        """Fill the free places of those that are ready with what waits for one."""
        while begun := self._next():
            cargo = self._away.cargoes[begun.task.stage.name].outgoing(begun.task)
            begun.member.send(work_of(begun.task, cargo))

    def _next(self) -> AtWork | None:
        with self._changed:
            ready = [fate.member is not None and fate.member.is_ready for fate in self._fates]
            for places in self._places.values():
                number = places.free_of(ready) if places.unbegun else None
                if number is not None:
                    member = self._fates[places.owner(number)].member
                    assert member is not None
                    task = places.begin(number)
                    begun = self._at_work[task.token] = AtWork(task, number, member)
                    return begun
        return None

    def _return_unbegun(self, stage: str, error: HarvestError) -> None:
        with self._changed:
            tasks = self._places[stage].recalled()
        for task in tasks:
            self._came(task.token, "", error, _nobody)

    # --- what processes say: in a thread of each -------------------------------------------

    def _heard(self, member: Member, message: Message) -> None:
        match message:
            case Result():
                self._brought(member, message)
            case Ask() | Back() | Pause() | Answered() if self._grants is not None:
                self._grants.heard(member, message, member.send)
            case Beat(memory, traffic):
                member.memory = memory
                self._count(traffic)
            case Said(level, name, text):
                logging.getLogger(name).log(level, "%s: %s", member.name, text)
            case Ready(format_, _) if format_ == FORMAT:
                self._is_ready(member)
            case _:
                raise Malformed(f"{type(message).__name__} is not for us")

    def _is_ready(self, member: Member) -> None:
        with self._changed:
            self._fates[member.number].failures = 0
        if self._grants is not None:
            self._grants.come(member, member.send)
        if self._stop.is_set():
            member.send(Stop())
        self._begin()

    def _brought(self, member: Member, message: Result) -> None:
        self._count(message.traffic)
        with self._changed:
            begun = self._at_work.get(message.token)
            if begun is None or begun.member is not member or begun.has_come:
                raise Malformed("a result that nobody waits for")
            begun.has_come = True
        self._hand_in(begun, self._result(begun.task, message))

    def _result(self, task: Task, message: Result) -> Done | HarvestError:
        cargo = self._away.cargoes[task.stage.name]
        try:
            if message.done is None:
                error = error_of(message.error or {})
                cargo.incoming(task, error, message.cargo)
                return error
            done = done_of(message.done, None)
            return done_of(message.done, cargo.incoming(task, done, message.cargo))
        except ValueError as error:
            logger.error("uri=%r: %s", task.uri, error)
            return RetryLater(f"its process answered what cannot be right: {error}")
        except HarvestError as error:
            return error

    def _hand_in(self, begun: AtWork, result: Done | Exception) -> None:
        holder = place_of(begun.task.stage.name, begun.number)
        self._came(begun.task.token, holder, result, lambda _verdict: self._free(begun))

    def _free(self, begun: AtWork) -> None:
        with self._changed:
            del self._at_work[begun.task.token]
            self._places[begun.task.stage.name].free(begun.number)
            self._changed.notify_all()
        self._begin()

    def _gone(self, member: Member, why: str) -> None:
        """It has ended for certain: what it worked on may be given to others."""
        if self._grants is not None:
            self._grants.gone(member)
        with self._changed:
            lost = [each for each in self._at_work.values() if each.member is member]
            lost = [each for each in lost if not each.has_come]
            for each in lost:
                each.has_come = True
            fate = self._fates[member.number]
            fate.member = None
            is_over = self._is_closing
            if not is_over:
                self._note_death(fate, member)
            self._changed.notify_all()
        if is_over:
            return
        logger.warning("%s: %s, with %d tasks at work", member.name, why, len(lost))
        for each in lost:
            self._hand_in(each, Died(f"the process that worked on it died: {why}"))
        if not member.is_ready:
            self._none_starts(why)

    def _note_death(self, fate: Fate, member: Member) -> None:
        fate.deaths += 1
        if not member.is_ready:
            fate.failures += 1
            pause = pause_after(fate.failures, FIRST_PAUSE_S, LONGEST_PAUSE_S)
            fate.not_before = time.monotonic() + pause

    def _none_starts(self, why: str) -> None:
        """Whoever waits for a process that cannot be had goes back, unless another one is there."""
        with self._changed:
            if any(fate.member is not None and fate.member.is_ready for fate in self._fates):
                return
        for stage in self._places:
            error = Unavailable(f"no process for {stage} can be started: {why}")
            self._return_unbegun(stage, error)

    def _count(self, traffic: Table | None) -> None:
        if traffic is not None and self._away.traffic is not None:
            self._away.traffic.merge(traffic)

    def _tell_all(self, message: Message) -> None:
        for member in self._alive():
            if member.is_ready:
                member.send(message)

    # --- the supervisor's own thread -------------------------------------------------------

    def _start_supervisor(self) -> None:
        """With the first task. It starts all processes: they end with the thread that did."""
        if self._supervisor.ident is None:
            self._supervisor.start()

    def _supervise(self) -> None:
        while not self._is_closing:
            for number, fate in enumerate(self._fates):
                if fate.member is None and time.monotonic() >= fate.not_before:
                    self._start(number, fate)
            self._look()
            with self._changed:
                if not self._is_closing and not any(self._is_due(fate) for fate in self._fates):
                    self._changed.wait(LOOK_S)
        for member in self._alive():
            member.end("the harvest is over")
        for member in self._alive():
            member.join(GONE_S)

    def _is_due(self, fate: Fate) -> bool:
        return fate.member is None and time.monotonic() >= fate.not_before

    def _start(self, number: int, fate: Fate) -> None:
        places = {name: places.number_of(number) for name, places in self._places.items()}
        away = self._away
        level = logging.getLogger().getEffectiveLevel()
        hello = Hello(FORMAT, away.job, places, dict(away.setup), level)
        member = Member(number, self._heard, self._gone)
        with self._changed:
            fate.member = member
        try:
            member.start(away.command, hello)
        except OSError as error:
            self._gone(member, f"it cannot be started ({error.strerror})")

    def _look(self) -> None:
        """Is anybody silent, and has everybody heard that it is time to stop?"""
        for member in self._alive():
            member.looks += 1
            if member.looks > (SILENT_LOOKS if member.is_ready else START_LOOKS):
                member.end("it was silent")
        if self._stop.is_set() and not self._is_told:
            self._is_told = True
            self._tell_all(Stop())

    def _alive(self) -> list[Member]:
        return [fate.member for fate in self._fates if fate.member is not None]

    def _shown(self, number: int) -> Shown:
        fate = self._fates[number]
        places = {name: each.number_going_of(number) for name, each in self._places.items()}
        at_work = dict.fromkeys(self._places, 0)
        for each in self._at_work.values():
            if (each.number - 1) % len(self._fates) == number:
                at_work[each.task.stage.name] += 1
        memory = fate.member.memory if fate.member else 0
        return Shown(f"process {number + 1}", places, at_work, memory, fate.deaths)


def _nobody(_verdict: Verdict) -> None:
    """No place waits for this answer."""
