"""Pieces of work that run by the wall clock beside the harvest, each in a thread of its own.

Promise: one that fails or hangs disturbs neither the others nor the end of the process. Slots that
were missed (a suspended machine, a clock set forward) are made up for by one run; a clock set back
brings neither a double nor hours without a run. Times are in UTC, so summer time does nothing.
Limit: nothing begins by itself; somebody calls `tick` a few times a second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from ..errors import HarvestError
from .settings import require_times

if TYPE_CHECKING:
    from ..base.crontab import Slots

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
NEVER = datetime.max.replace(tzinfo=UTC)


class Outcome(NamedTuple):
    name: str
    ended: float  # wall clock
    seconds: float
    done: str | None  # a few words, or None if
    failure: str | None  # it failed, and why


@dataclass(eq=False)
class ScheduledWork:
    name: str
    times: str
    setting: str
    work: Callable[[], str]
    since: datetime = NEVER  # slots from then on count
    due: datetime = NEVER  # none of them is sooner
    thread: Thread | None = None
    begun: float | None = None  # monotonic
    is_reported: bool = False  # that it takes longer than until its next slot

    @cached_property
    def slots(self) -> Slots:
        """Only when one may have come: most runs are over before, and the import takes its time."""
        from ..base.crontab import parse

        return parse(self.times, self.setting)

    def is_running(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def start(self, now: datetime) -> None:
        """No slot comes before a minute is full."""
        self.since = now
        self.due = now if _is_full_minute(now) else _minute_after(now)

    def has_come(self, now: datetime) -> bool:
        """Has a slot, since it was last asked? However many were missed, that is one."""
        first = self.slots.first_from(self.since)
        if has_come := first <= now:
            self.since = now + timedelta(microseconds=1)
            first = self.slots.first_from(self.since)
        self.due = first
        return has_come


class Clock:
    def __init__(self, report: Callable[[Outcome], None]) -> None:
        """`report` is called at every end, in the thread of that work."""
        self._report_to = report
        self._pieces: list[ScheduledWork] = []
        self._latest = datetime.min.replace(tzinfo=UTC)  # what the wall clock has already shown
        self._is_open = self._may_begin = False
        self._lock = Lock()  # nothing begins twice

    def add(self, name: str, times: str, work: Callable[[], str], setting: str = "") -> None:
        """Before the start. `times` is as in a crontab, "" is never; `setting` names it."""
        setting = setting or f"clock.{name}"
        require_times(times, setting)
        if times.strip():
            self._pieces.append(ScheduledWork(name, times.strip(), setting, work))

    def start(self) -> None:
        self._latest = datetime.now(UTC)
        for piece in self._pieces:
            piece.start(self._latest)
        self._is_open = self._may_begin = True

    def tick(self) -> None:
        """Begin what is due."""
        if not self._may_begin:
            return
        now = datetime.now(UTC)
        if now < self._latest:
            self._set_back(now)
        self._latest = max(now, self._latest)
        for piece in self._pieces:
            with suppress(OSError):  # no file is left for what the first slot imports: soon again
                if piece.due <= now and piece.has_come(now):
                    self._begin(piece)

    def run_soon(self, name: str) -> bool:
        """Do not wait for its slot; False if it runs already, or not at all."""
        pieces = [each for each in self._pieces if each.name == name and not each.is_running()]
        if not self._may_begin:
            return False
        for piece in pieces:
            self._begin(piece)
        return bool(pieces)

    def wait_for(self, name: str, stop: Event) -> None:
        """Until it has ended, if it runs now; or until somebody wants to stop."""
        for piece in (each for each in self._pieces if each.name == name):
            while piece.is_running() and not stop.wait(LOOK_EVERY_S):
                pass

    def close(self, patience_s: float) -> None:
        """No new work. What runs has so long; then it is left behind and nobody hears of it."""
        if not self._is_open:
            return
        deadline = time.monotonic() + patience_s
        self._may_begin = False
        for piece in self._pieces:
            if piece.thread is not None:
                piece.thread.join(max(0.0, deadline - time.monotonic()))
            if piece.is_running():
                logger.warning("%s does not end: it is left behind", piece.name)
        self._is_open = False

    def _set_back(self, now: datetime) -> None:
        """Slots by the old time would be hours away."""
        for piece in self._pieces:
            since = None if piece.begun is None else time.monotonic() - piece.begun
            slot = piece.slots.after_set_back(now, since)
            if slot is not None and slot < piece.due:
                logger.warning("the clock was set back: %s runs next at %s", piece.name, slot)
                piece.since = piece.due = slot

    def _begin(self, piece: ScheduledWork) -> None:
        with self._lock:
            if piece.is_running():
                if not piece.is_reported:
                    logger.warning("%s still runs: it is left out until it ends", piece.name)
                piece.is_reported = True
                return
            piece.is_reported = False
            piece.begun = time.monotonic()
            thread = Thread(target=self._run, args=(piece,), name=piece.name, daemon=True)
            piece.thread = thread  # known before it can do anything
            try:
                thread.start()
                return
            except RuntimeError as error:  # the system gives no more threads now
                piece.thread = None
                failure = _failure(piece.name, error)
        self._report(Outcome(piece.name, time.time(), 0.0, None, failure))

    def _run(self, piece: ScheduledWork) -> None:
        """In a thread of its own: whatever happens is an outcome of this work only."""
        begun, done, failure = time.monotonic(), None, None
        try:
            done = piece.work()
        except BaseException as error:
            failure = _failure(piece.name, error)
        self._report(Outcome(piece.name, time.time(), time.monotonic() - begun, done, failure))

    def _report(self, outcome: Outcome) -> None:
        if not self._is_open:
            return
        try:
            self._report_to(outcome)
        except Exception:
            logger.exception("what became of %s could not be reported", outcome.name)


def _is_full_minute(moment: datetime) -> bool:
    return moment.second == moment.microsecond == 0


def _minute_after(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0) + timedelta(minutes=1)


def _failure(name: str, error: BaseException) -> str:
    """One line. What says itself what is wrong needs no traceback."""
    if isinstance(error, HarvestError | OSError):
        reason = " ".join(str(error).split()) or type(error).__name__
        logger.warning("%s failed: %s", name, reason)
        return reason
    logger.error("%s failed", name, exc_info=error)
    return " ".join(f"a bug in Sheaf: {error!r}".split())
