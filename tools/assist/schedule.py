"""Pieces of work that run by the wall clock beside the harvest, each in a thread of its own.

Promise: one that fails or hangs disturbs neither the others nor the end of the process. Slots that
were missed (a suspended machine, a clock set forward) are made up for by one run; a clock set back
brings neither a double nor hours without a run. Times are in UTC, so summer time does nothing.
Limit: where a crontab names a day and a weekday, both must fit.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any, NamedTuple

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from ..errors import HarvestError, WrongSetting

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NUMBERS = re.compile(r"^(?:\*(?=/)|([0-7])(?:-([0-7]))?)(?:/([1-7]))?$")


class Outcome(NamedTuple):
    name: str
    ended: float  # wall clock
    seconds: float
    done: str | None  # a few words, or None if
    failure: str | None  # it failed, and why


class Slots(CronTrigger):  # type: ignore[misc]  # it has no types
    """The times of a crontab. However many were missed, the next one is the next after now."""

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        start = now if previous is None else now + timedelta(microseconds=1)
        return super().get_next_fire_time(None, start)  # type: ignore[no-any-return]

    def after_set_back(self, now: datetime, since_last_s: float | None) -> datetime | None:
        """The first by the new time that is half of the usual distance or more after the last."""
        first = self.get_next_fire_time(now, now)
        second = first and self.get_next_fire_time(first, first)
        if since_last_s is None or first is None or second is None:
            return first
        is_near = timedelta(seconds=since_last_s) + (first - now) < (second - first) / 2
        return second if is_near else first


@dataclass(eq=False)
class ScheduledWork:
    name: str
    slots: Slots
    work: Callable[[], str]
    job: Any = None  # the scheduler's
    thread: Thread | None = None
    begun: float | None = None  # monotonic
    is_reported: bool = False  # that it takes longer than until its next slot

    def is_running(self) -> bool:
        return self.thread is not None and self.thread.is_alive()


class Clock:
    def __init__(self, report: Callable[[Outcome], None]) -> None:
        """`report` is called at every end, in the thread of that work."""
        self._report_to = report
        self._pieces: list[ScheduledWork] = []
        self._latest = datetime.min.replace(tzinfo=UTC)  # what the wall clock has already shown
        self._is_open = False
        # Work only begins in the scheduler's thread; its own pool would be waited for at exit.
        self._scheduler = BackgroundScheduler(timezone=UTC, executors={"default": DebugExecutor()})

    def add(self, name: str, times: str, work: Callable[[], str], setting: str = "") -> None:
        """Before the start. `times` is as in a crontab, "" is never; `setting` names it."""
        if times.strip():
            self._pieces.append(ScheduledWork(name, parse(times, setting or f"clock.{name}"), work))

    def start(self) -> None:
        logging.getLogger("apscheduler").setLevel(logging.WARNING)  # else three lines for each run
        self._latest = datetime.now(UTC)
        for piece in self._pieces:
            piece.job = self._scheduler.add_job(
                self._begin, piece.slots, [piece], misfire_grace_time=None
            )
        self._is_open = True
        self._scheduler.start()

    def tick(self) -> None:
        """The scheduler sleeps by the clock as it was: who changes the clock does not wake it."""
        if not self._is_open:
            return
        now = datetime.now(UTC)
        if now < self._latest:
            self._set_back(now)
        self._latest = max(now, self._latest)
        if any(piece.job.next_run_time <= now for piece in self._pieces):
            self._scheduler.wakeup()

    def run_soon(self, name: str) -> bool:
        """Do not wait for its slot; False if it runs already, or not at all."""
        now, is_hastened = datetime.now(UTC), False
        for piece in self._pieces:
            if self._is_open and piece.name == name and not piece.is_running():
                piece.job.modify(next_run_time=now)
                is_hastened = True
        return is_hastened

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
        self._scheduler.shutdown(wait=False)
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
            if slot is not None and slot < piece.job.next_run_time:
                logger.warning("the clock was set back: %s runs next at %s", piece.name, slot)
                piece.job.modify(next_run_time=slot)

    def _begin(self, piece: ScheduledWork) -> None:
        """In the scheduler's thread."""
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
        except RuntimeError as error:  # the system gives no more threads now
            piece.thread = None
            self._report(Outcome(piece.name, time.time(), 0.0, None, _failure(piece.name, error)))

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


def parse(times: str, setting: str) -> Slots:
    try:
        *fields, weekday = times.split()
        slots: Slots = Slots.from_crontab(" ".join((*fields, weekdays(weekday))), UTC)
    except ValueError:
        raise WrongSetting(
            setting,
            f'{setting} must be minute, hour, day, month and weekday in UTC, like "0 */3 * * *" for'
            f' every third hour, or "" for never; it is {times!r}',
        ) from None
    if slots.get_next_fire_time(None, datetime.now(UTC)) is None:
        sentence = f'{setting} is {times!r}, which never comes; write "" for never'
        raise WrongSetting(setting, sentence)
    return slots


def weekdays(field: str) -> str:
    """Names for numbers: a crontab begins its week with 0 on Sunday, APScheduler on Monday.

    >>> weekdays("1-5"), weekdays("0,7"), weekdays("*/3"), weekdays("*"), weekdays("mon-wed")
    ('mon,tue,wed,thu,fri', 'sun,sun', 'sun,wed,sat', '*', 'mon-wed')
    """
    return ",".join(_NUMBERS.sub(_names, part) for part in field.split(","))


def _names(numbers: re.Match[str]) -> str:
    first, last, step = numbers.groups()
    days = range(int(first or 0), int(last or first or 6) + 1, int(step or 1))
    return ",".join(_DAYS[day % 7] for day in days)


def _failure(name: str, error: BaseException) -> str:
    """One line. What says itself what is wrong needs no traceback."""
    if isinstance(error, HarvestError | OSError):
        reason = " ".join(str(error).split()) or type(error).__name__
        logger.warning("%s failed: %s", name, reason)
        return reason
    logger.error("%s failed", name, exc_info=error)
    return " ".join(f"a bug in Sheaf: {error!r}".split())
