"""Works on tasks in processes of this machine: some stages there, all others in threads here.

Promise: a process that dies, is silent or says what is no message is replaced, and what it worked
on comes back as Died when it is certainly gone: two never work on the same, unless a timeout took a
task back, and then nothing of the first is kept. Limits, rests, traffic and what is to be stored
stay here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, Event
from types import MappingProxyType
from typing import Any, NamedTuple

from ..engine.executor import Came, nobody, place_of
from ..engine.executor import Member as Shown
from ..engine.stage import Done, Stage, Task, Worker
from ..engine.threads import ThreadExecutor
from ..errors import Died, HarvestError, Interrupted, Unavailable
from ..network.traffic import Traffic
from .cargo import Cargo, result_of
from .crew import Crew
from .grants import Granting, Grants
from .member import Member, name_of
from .messages import (
    FORMAT,
    Again,
    Answered,
    Ask,
    Back,
    Beat,
    Hello,
    Message,
    Pause,
    Ready,
    Result,
    Said,
    Table,
)
from .places import Places
from .wire import Malformed, work_of

logger = logging.getLogger(__name__)

LOOK_S = 0.2


class Away(NamedTuple):
    """What is done in processes, how many and which program they run."""

    cargoes: Mapping[str, Cargo]  # by stage
    processes: int
    command: Sequence[str]
    job: str = ""
    setup: Mapping[str, Any] = MappingProxyType({})
    limits: Granting | None = None
    traffic: Traffic | None = None
    memory: int | None = None  # bytes that each may have


@dataclass(slots=True)
class AtWork:
    task: Task
    number: int  # of its place
    member: Member
    has_come: bool = False


class ProcessExecutor:
    """The Executor of one machine."""

    def __init__(
        self, stages: Iterable[Stage], workers: Mapping[str, Worker], away: Away, stop: Event
    ) -> None:
        stages = list(stages)
        here = {name: work for name, work in workers.items() if name not in away.cargoes}
        self._here = ThreadExecutor(stages, here)
        self._away = away
        there = [stage for stage in stages if stage.name in away.cargoes]
        names = ((stage.name, stage.waiting) for stage in stages)
        self._known = {"finished", *(name for both in names for name in both)}
        self._places = {stage.name: Places(stage, away.processes) for stage in there}
        self._at_work: dict[int, AtWork] = {}
        self._changed = Condition()  # its lock is never held while anybody else is called
        ways = self._hello, self._heard, self._gone, stop
        self._crew = Crew(away.processes, away.command, *ways, away.memory)
        self._grants: Grants | None = None
        if away.limits is not None:
            everybody = sum(stage.workers for stage in there)
            self._grants = Grants(away.limits, everybody, self._crew.tell_all)

    # --- what every executor does ----------------------------------------------------------

    def open(self, came: Came) -> None:
        self._came = came
        self._here.open(came)

    def places(self, stage: str) -> int:
        found = self._places.get(stage)
        return self._here.places(stage) if found is None else found.number

    def give(self, tasks: Sequence[Task]) -> None:
        self._here.give([task for task in tasks if task.stage.name not in self._places])
        if there := [task for task in tasks if task.stage.name in self._places]:
            with self._changed:
                for task in there:
                    self._places[task.stage.name].unbegun.append(task)
            try:
                self._crew.start()
            except RuntimeError as error:  # the system gives no more threads now
                self._return_all(Unavailable(str(error)))
            self._begin()

    def recall(self, stage: str) -> None:
        if stage in self._places:
            self._return_unbegun(stage, Interrupted("recalled before anybody began"))
        else:
            self._here.recall(stage)

    def rest(self, stage: str, numbers: Collection[int]) -> None:
        if stage not in self._places:
            self._here.rest(stage, numbers)
            return
        with self._changed:
            self._places[stage].resting = frozenset(numbers)
        self._begin()

    def members(self) -> Sequence[Shown]:
        with self._changed:
            there = [self._shown(number) for number in range(self._away.processes)]
        return [*self._here.members(), *there]

    def close(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        for stage in self._places:
            self.recall(stage)
        self._here.close(grace_s)
        with self._changed:
            while self._is_awaited() and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(min(left, LOOK_S))
        self._crew.close()
        if self._grants is not None:
            self._grants.close()

    def _is_awaited(self) -> bool:
        """Is anybody at work, who can still come home?"""
        return bool(self._at_work) and not self._crew.is_closing

    def _shown(self, number: int) -> Shown:
        name, fate = name_of(number), self._crew.fates[number]
        places = {name: each.going_of(number) for name, each in self._places.items()}
        at_work = dict.fromkeys(self._places, 0)
        for each in self._at_work.values():
            at_work[each.task.stage.name] += each.member.number == number
        return Shown(name, places, at_work, fate.told(name, sum(at_work.values())))

    def _hello(self, number: int) -> Hello:
        places = {name: each.number_of(number) for name, each in self._places.items()}
        level = logger.getEffectiveLevel()  # ours, not that of libraries
        return Hello(FORMAT, self._away.job, places, dict(self._away.setup), level)

    # --- handing out -----------------------------------------------------------------------

    def _begin(self) -> None:
        """Fill the free places of those that are ready with what waits for one."""
        while begun := self._next():
            try:
                cargo = self._away.cargoes[begun.task.stage.name].outgoing(begun.task)
                begun.member.send(work_of(begun.task, cargo))
            except Exception as error:  # whatever happens, the task comes back
                if self._is_first(begun):
                    self._hand_in(begun, error)

    def _next(self) -> AtWork | None:
        with self._changed:
            ready = self._crew.ready()
            for places in self._places.values():
                number = places.free_of(ready) if places.unbegun else None
                if number is not None and (member := ready[places.owner(number)]):
                    task = places.begin(number)
                    begun = self._at_work[task.token] = AtWork(task, number, member)
                    return begun
        return None

    def _return_all(self, error: HarvestError) -> None:
        for stage in self._places:
            self._return_unbegun(stage, error)

    def _return_unbegun(self, stage: str, error: HarvestError) -> None:
        with self._changed:
            tasks = self._places[stage].recalled()
        for task in tasks:
            self._came(task.token, "", error, nobody)

    # --- what processes say: in a thread of each -------------------------------------------

    def _heard(self, member: Member, message: Message) -> None:
        match message:
            case Result():
                self._brought(member, message)
            case Ask() | Again() | Back() | Pause() | Answered() if self._grants is not None:
                self._grants.heard(member, message, member.send)
            case Beat(traffic):
                self._count(traffic)
            case Said(level, name, text):
                logging.getLogger(name).log(level, "%s", text)
            case Ready(format_, _) if format_ == FORMAT:
                if self._grants is not None:
                    self._grants.come(member, member.send)
                self._begin()
            case _:
                raise Malformed(f"{type(message).__name__} is not for us")

    def _brought(self, member: Member, message: Result) -> None:
        self._count(message.traffic)
        with self._changed:
            begun = self._at_work.get(message.token)
            if begun is None or begun.member is not member or begun.has_come:
                raise Malformed("a result that nobody waits for")
            begun.has_come = True
            if message.done is not None:
                self._crew.fates[member.number].done.add()
        cargo = self._away.cargoes[begun.task.stage.name]
        self._hand_in(begun, result_of(begun.task, message, cargo, self._known))

    def _clear_up(self, task: Task) -> None:
        """What is left of it; whoever begins it anew tries that again."""
        try:
            self._away.cargoes[task.stage.name].lost(task)
        except Exception as error:
            logger.warning("uri=%r: what is left of it stays: %r", task.uri, error)

    def _is_first(self, begun: AtWork) -> bool:
        """A task comes back once: as it ended, or because its process did."""
        with self._changed:
            had_come, begun.has_come = begun.has_come, True
            return not had_come

    def _hand_in(self, begun: AtWork, result: Done | Exception) -> None:
        """The place of a stage that computes is free at once: the next task lies ready for it."""
        stage = begun.task.stage
        holder = place_of(stage.name, begun.number)
        if stage.kind == "computes":
            try:
                self._came(begun.task.token, holder, result, nobody)
            finally:
                self._free(begun)
        else:
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
        if self._crew.is_closing:
            return
        with self._changed:
            at_work = [each for each in self._at_work.values() if each.member is member]
        for each in filter(self._is_first, at_work):
            if each.task.seconds is None:  # else somebody else has it
                self._clear_up(each.task)
            self._hand_in(each, Died(f"the process that worked on it died: {why}"))
        if self._crew.is_hopeless():
            stages = " and ".join(self._places)
            self._return_all(Unavailable(f"no process for {stages} can be started: {why}"))

    def _count(self, traffic: Table | None) -> None:
        if traffic is not None and self._away.traffic is not None:
            try:
                self._away.traffic.merge(traffic)
            except ValueError as error:
                raise Malformed(str(error)) from None
