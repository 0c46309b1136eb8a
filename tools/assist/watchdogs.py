"""What is looked after while a harvest runs: room on the disk, tasks that hang, a source that is
down. Each is called about once a second by the main thread.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from shutil import disk_usage
from types import FrameType
from typing import Protocol

from ..engine.monitor import Monitor
from ..engine.pools import Pools
from ..engine.stage import Stage, Task
from ..journal.nodes import Node
from ..journal.processes import Process

logger = logging.getLogger(__name__)

Report = Callable[[str, str], None]
"""A title and a text, for the user who is not looking."""

RESERVE, BACKLOG = "reserve", "backlog"
ENOUGH_AGAIN = 1.1  # of the reserve; else a stage would stop and go with every file
RUN_SOON_EVERY_S = 600.0
DEATHS_EVERY_S = 600.0
SILENT_S = 600.0  # so long a node may say nothing before anybody is told
ROOM_AGAIN = 0.9  # of the limit


class Holdable(Protocol):
    """Who hands out, or takes, the tasks of a stage."""

    @property
    def stage(self) -> Stage: ...
    def hold(self, holder: str, reason: str | None) -> None: ...


class Reserve:
    """Stages that write files wait while the disk has less room than the reserve."""

    def __init__(self, monitors: Iterable[Holdable], reserve: int, report: Report) -> None:
        self._folders = {each: each.stage.folder for each in monitors if each.stage.folder}
        self._reserve = reserve
        self._report = report
        self._short: set[Holdable] = set()

    def __call__(self) -> None:
        for monitor, folder in self._folders.items():
            try:
                free = disk_usage(folder).free
            except OSError:  # whoever writes there says what is wrong
                continue
            if monitor not in self._short and free < self._reserve:
                self._hold(monitor, folder, free)
            elif monitor in self._short and free >= self._reserve * ENOUGH_AGAIN:
                self._let_go(monitor, folder)

    def _hold(self, monitor: Holdable, folder: Path, free: int) -> None:
        self._short.add(monitor)
        text = (
            f"the disk with {folder} has {free / 1e6:,.0f} MB left, less than the reserve of "
            f"{self._reserve / 1e6:,.0f} MB: {monitor.stage.name} waits until there is more room"
        )
        monitor.hold(RESERVE, text)
        logger.warning("%s", text)
        self._report("the disk is nearly full", text)

    def _let_go(self, monitor: Holdable, folder: Path) -> None:
        self._short.discard(monitor)
        monitor.hold(RESERVE, None)
        logger.warning("the disk with %s has room again: %s goes on", folder, monitor.stage.name)


class Backlog:
    """Stages that write files wait while too much of it has not been shipped yet: in books and
    batches, or as the beginnings of tasks that wait for more."""

    def __init__(
        self,
        monitors: Iterable[Holdable],
        waiting: Callable[[], int],
        limit: float,
        report: Report,
        run_soon: Callable[[], bool],
        begun: Callable[[], int] = lambda: 0,
    ) -> None:
        self._monitors = [each for each in monitors if each.stage.folder]
        self._waiting = waiting
        self._limit = limit
        self._report = report
        self._run_soon = run_soon
        self._begun = begun
        self._begun_before = 0
        self._is_full = False
        self._run_soon_at = 0.0

    def __call__(self) -> None:
        begun, before = self._begun(), self._begun_before
        size, self._begun_before = self._waiting() + begun, begun
        if not self._is_full and size >= self._limit:
            self._is_full = True
            text = (
                f"{size / 1e6:,.0f} MB of files wait to be shipped, which is the limit "
                "(transport.outbox_mb): no new ones are begun until some have arrived"
            )
            self._hold(text, text)
            self._report("the outbox is full", text)
            self._run_soon_at = 0.0
        elif self._is_full and size <= self._limit * ROOM_AGAIN:
            self._is_full = False
            self._hold(None, "there is room in the outbox again: files go on")
        if begun < before:  # some was ended with what it has, and can be shipped in a moment
            self._run_soon_at = 0.0
        elif self._is_full and time.monotonic() >= self._run_soon_at and self._run_soon():
            self._run_soon_at = time.monotonic() + RUN_SOON_EVERY_S

    def _hold(self, reason: str | None, text: str) -> None:
        for monitor in self._monitors:
            monitor.hold(BACKLOG, reason)
        logger.warning("%s", text)


class Heartbeat:
    """Reports once each task that takes too long, and what every thread does."""

    def __init__(self, pools: Pools, monitors: Sequence[Monitor], hang_s: float) -> None:
        self._pools = pools
        self._stages = [monitor.stage for monitor in monitors]
        self._hang_s = hang_s
        self._reported: list[Task] = []

    def __call__(self) -> None:
        running = [task for stage in self._stages for task in self._pools.tasks(stage)]
        oldest = time.monotonic() - self._hang_s
        hanging = [task for task in running if task.begun < oldest]
        new = [task for task in hanging if not any(task is other for other in self._reported)]
        self._reported = hanging
        for task in new:
            text = "%s uri=%r is at work for more than %.0f s"
            logger.warning(text, task.stage.name, task.uri, self._hang_s)
        if new:
            for line in stacks():
                logger.warning("%s", line)


class Overdue:
    """Every now and then, what is at work for too long goes back to its pool."""

    def __init__(self, monitors: Sequence[Monitor], longest_s: float, scan_s: float) -> None:
        self._monitors = monitors
        self._longest_s = longest_s
        self._scan_s = scan_s
        self._next_scan = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._next_scan:
            return
        self._next_scan = time.monotonic() + self._scan_s
        for monitor in self._monitors:
            if number := monitor.take_back_overdue(self._longest_s):
                text = "%d of %s took more than %.0f s and were taken back"
                logger.warning(text, number, monitor.stage.name, self._longest_s)


class Outages:
    """Reports a stage that gets no answer for long, and when it goes on."""

    def __init__(self, monitors: Iterable[Monitor], after_s: float, report: Report) -> None:
        self._monitors = list(monitors)
        self._after_s = after_s
        self._report = report
        self._down: set[Monitor] = set()

    def __call__(self) -> None:
        for monitor in self._monitors:
            seconds, reason = monitor.outage
            if seconds > self._after_s and monitor not in self._down:
                self._down.add(monitor)
                text = f"{monitor.stage.name} has waited for {seconds / 60:.0f} minutes: {reason}"
                logger.warning("%s", text)
                self._report(f"{monitor.stage.name} gets no answer", text)
            elif not seconds and monitor in self._down:
                self._down.discard(monitor)
                self._report(f"{monitor.stage.name} goes on", "it gets answers again")


class Deaths:
    """Reports processes that died and why, those of some minutes together. They are replaced."""

    def __init__(self, processes: Callable[[], Sequence[Process]], report: Report) -> None:
        self._processes = processes
        self._report = report
        self._told: dict[str, int] = {}
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._next:
            return
        new = [each for each in self._processes() if each.deaths > self._told.get(each.name, 0)]
        if new:
            self._next = time.monotonic() + DEATHS_EVERY_S
            self._report("a process died", "\n".join(map(self._told_of, new)))

    def _told_of(self, each: Process) -> str:
        deaths = each.deaths - self._told.get(each.name, 0)
        self._told[each.name] = each.deaths
        times = "" if deaths == 1 else f" {deaths} times, at last"
        return f"{each.name} died{times}: {each.why}; what it worked on is tried again"


class NodeTroubles:
    """Reports each node that is silent for long, held or refused, and when it is well again."""

    def __init__(self, nodes: Callable[[], Sequence[Node]], report: Report) -> None:
        self._nodes = nodes
        self._report = report
        self._told: dict[str, str] = {}

    def __call__(self) -> None:
        for each in self._nodes():
            trouble, before = _trouble(each), self._told.get(each.name, "")
            if trouble and not before:
                self._told[each.name] = trouble
                self._report(f"node {each.name} does not work", trouble)
            elif before and not trouble and each.since is not None:
                del self._told[each.name]
                self._report(f"node {each.name} works again", f"before: {before}")


def _trouble(each: Node) -> str:
    if each.since is None and each.heard and time.time() - each.heard > SILENT_S:
        return f"it was last heard {(time.time() - each.heard) / 60:.0f} minutes ago"
    return each.refused or (each.held if each.since is not None else "")


def stacks() -> list[str]:
    """What every thread does, a line each, the innermost call first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [
        f"thread {names.get(ident, ident)}: {_calls(frame)}"
        for ident, frame in sys._current_frames().items()
    ]


def _calls(frame: FrameType) -> str:
    calls = reversed(traceback.extract_stack(frame))
    return " < ".join(f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in calls)
