"""The processes that work for a harvest: started, looked after, replaced, ended.

Promise: there are as many as wanted, or soon again; one that says nothing for a while, or has more
memory than it may, is ended; one that cannot be started is tried again with growing pauses. All
hear when it is time to stop. Nobody outlives `close`, nor the process that this is in.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread

from ..base.backoff import pause_after
from ..journal.processes import Process
from .member import Gone, Heard, Member
from .messages import Hello, Message, Ready, Stop
from .pace import LastMinute

logger = logging.getLogger(__name__)

LOOK_S = 0.2
SILENT_LOOKS = 150  # our own: whoever was stopped for a while himself has not looked meanwhile
START_LOOKS = 600  # until it is ready
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0  # after one that never was
SEVERAL = 3
GONE_S = 10.0
UNHEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # of a terminal, mostly


@dataclass(slots=True)
class Fate:
    """How one of them fares, over all that take its place."""

    member: Member | None = None
    done: LastMinute = field(default_factory=LastMinute)
    deaths: int = 0
    died_at: float | None = None  # the last time, by the wall clock
    why: str = ""
    failures: int = 0  # in a row, before it was ready
    not_before: float = 0.0

    def told(self, name: str, at_work: int) -> Process:
        member = self.member
        since, memory = (member.since, member.memory) if member is not None else (None, 0)
        numbers = at_work, self.done.count(), memory, self.deaths
        return Process(name, since, *numbers, self.died_at, self.why)

    @property
    def is_due(self) -> bool:
        return self.member is None and time.monotonic() >= self.not_before


class Crew:
    """`heard` and `gone` are called from a thread of each process."""

    def __init__(
        self,
        number: int,
        command: Sequence[str],
        hello: Callable[[int], Hello],
        heard: Heard,
        gone: Gone,
        stop: Event,
        memory: int | None = None,
    ) -> None:
        """`memory` is how many bytes each of them may have."""
        self._command = command
        self._hello = hello
        self._heard = heard
        self._gone = gone
        self._stop = stop
        self._memory = memory
        self.fates = [Fate() for _ in range(number)]
        self._changed = Condition()  # its lock is never held while anybody else is called
        self._supervisor = Thread(target=self._supervise, name="processes", daemon=True)
        self._is_told = False
        self.is_closing = False

    def start(self) -> None:
        """With the first task; again it does nothing."""
        with self._changed:
            if self._supervisor.ident is None and not self.is_closing:
                self._supervisor.start()

    def ready(self) -> list[Member | None]:
        """Those that can be given tasks, each in its place."""
        members = [fate.member for fate in self.fates]
        return [each if each is not None and each.is_ready else None for each in members]

    def is_hopeless(self) -> bool:
        """None is there, and each has failed to start several times."""
        return all(fate.failures >= SEVERAL for fate in self.fates) and not any(self.ready())

    def tell_all(self, message: Message) -> None:
        for member in self.ready():
            if member is not None:
                member.send(message)

    def close(self) -> None:
        with self._changed:
            self.is_closing = True
            self._changed.notify_all()
        if self._supervisor.ident is not None:
            self._supervisor.join(2 * GONE_S)

    # --- a thread of each process ----------------------------------------------------------

    def _hear(self, member: Member, message: Message) -> None:
        if isinstance(message, Ready):
            self.fates[member.number].failures = 0
            if self._stop.is_set():
                member.send(Stop())
        self._heard(member, message)

    def _lose(self, member: Member, why: str) -> None:
        with self._changed:
            fate = self.fates[member.number]
            fate.member = None
            is_missed = not self.is_closing
            if is_missed:
                fate.deaths, fate.died_at, fate.why = fate.deaths + 1, time.time(), why
            if not member.is_ready:
                fate.failures += 1
                pause = pause_after(fate.failures, FIRST_PAUSE_S, LONGEST_PAUSE_S)
                fate.not_before = time.monotonic() + pause
            self._changed.notify_all()
        if is_missed:
            logger.warning("%s is gone: %s", member.name, why)
        self._gone(member, why)

    # --- the supervisor's own thread -------------------------------------------------------

    def _supervise(self) -> None:
        """It starts all of them: the system ends them with the thread that did, and what this one
        does not hear they do not, from their first moment on."""
        signal.pthread_sigmask(signal.SIG_BLOCK, UNHEARD)
        while not self.is_closing:
            try:
                self._tend()
            except Exception:  # a bug here would leave everybody waiting
                logger.exception("processes")
            with self._changed:
                if not self.is_closing and not any(fate.is_due for fate in self.fates):
                    self._changed.wait(LOOK_S)
        alive = self._alive()
        for member in alive:
            member.end("the harvest is over")
        for member in alive:
            member.join(GONE_S)

    def _tend(self) -> None:
        for number, fate in enumerate(self.fates):
            if fate.is_due:
                self._start(number, fate)
        self._look()

    def _start(self, number: int, fate: Fate) -> None:
        fate.member = member = Member(number, self._hear, self._lose)
        try:
            member.start(self._command, self._hello(number))
        except OSError as error:
            self._lose(member, f"it cannot be started ({error.strerror})")

    def _look(self) -> None:
        """Is anybody silent or too large, and has everybody heard that it is time to stop?"""
        for member in self._alive():
            member.look(self._memory)
            member.looks = 0 if member.is_heard else member.looks + 1
            if member.looks > (SILENT_LOOKS if member.is_ready else START_LOOKS):
                member.end("it was silent")
        if self._stop.is_set() and not self._is_told:
            self._is_told = True
            self.tell_all(Stop())

    def _alive(self) -> list[Member]:
        return [fate.member for fate in self.fates if fate.member is not None]
