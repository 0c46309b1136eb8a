"""Works beside the harvest: what the clock makes happen, what is watched, and who gets notice.

Promise: nothing here makes a task wait, and nothing that goes wrong here stops the harvest, except
a state that can no longer be written.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..base.place import Place
from ..engine.executor import nodes_of, processes_of
from ..engine.harvest import Harvest
from ..engine.job import Guard
from ..errors import Fatal, HarvestError, StopHarvest, Unavailable
from ..journal.at_work import AtWork, at_work_fact
from ..journal.holder import Running
from ..journal.nodes import nodes_fact
from ..journal.processes import processes_fact
from ..journal.reader import look
from ..journal.rests import Resting, rests_fact
from ..reports.text import brief
from ..reports.view import View
from .inbox import (
    is_retry_requested,
    is_shipping_requested,
    take_pause_requests,
    take_retry_requests,
    take_shipping_requests,
)
from .notify import Kind, Notices
from .sampler import Sampler, Traffic
from .schedule import Clock, Outcome
from .settings import AssistSettings
from .watchdogs import Backlog, Deaths, Heartbeat, NodeTroubles, Outages, Overdue, Reserve

if TYPE_CHECKING:  # they take paramiko with them
    from ..shipping.sender import Show
    from ..transport import Transport

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
PATIENCE_S = 5.0  # for work of the clock that still runs when the harvest has ended
EVERY_MINUTE = "* * * * *"
TRANSPORT = "transport"
REMEMBERED = ("snapshot", TRANSPORT)


class Assist:
    def __init__(
        self,
        harvest: Harvest,
        settings: AssistSettings,
        traffic: Traffic,
        transport: Transport | None = None,
        guard: Guard | None = None,
        begun: Callable[[], int] = lambda: 0,
    ) -> None:
        """`begun`: bytes of media that no book knows yet."""
        self._harvest = harvest
        self._settings = settings
        self._transport = transport
        self._begun_bytes = begun
        self._sampler = Sampler(harvest.pools, traffic, facts=self._facts)
        self._next_look = 0.0
        self.goes_on = False  # with another round, after one of which there is nothing to tell
        self._notices = Notices(settings.notices)
        self._clock = Clock(self._ended)
        self._guard = guard
        pools = settings.pools_file
        self._home = Place(pools, name=pools, kind=StopHarvest)
        self._watches = self._new_watches()
        self._clock.add("snapshot", settings.clock.snapshot, self.snapshot)
        self._clock.add("sample", settings.clock.sample, self.sample)
        self._clock.add("retry", settings.clock.retry, self.retry)
        self._clock.add("graph", EVERY_MINUTE, self.ask_graph)
        if transport is not None:
            times = settings.transport.times
            self._clock.add(TRANSPORT, times, self.ship, "transport.every_hours")
        hours = settings.notices.progress_times
        self._clock.add("progress", hours, self._report_progress, "notices.progress_times")

    def _new_watches(self) -> list[Callable[[], None]]:
        harvest, settings, pools = self._harvest, self._settings, self._harvest.pools
        watches: list[Callable[[], None]] = [
            self._home,
            Heartbeat(pools, harvest.monitors, settings.clock.hang_s),
            Reserve(harvest.monitors, settings.reserve_bytes, self._reporter("disk")),
            Outages(harvest.monitors, settings.notices.source_down_s, self._reporter("source")),
            Deaths(partial(processes_of, harvest.executor), self._reporter("process")),
            NodeTroubles(partial(nodes_of, harvest.executor), self._reporter("process")),
        ]
        clock, job = settings.clock, harvest.job
        if longest_s := clock.task_timeout_s or job.task_timeout_s:
            watches.append(Overdue(harvest.monitors, longest_s, job.scan_s or clock.scan_s))
        if self._guard is not None:
            watches.append(self._guard.look)
        if (transport := self._transport) is not None and transport.frees_room:
            limit = settings.transport.outbox_mb * 1e6
            report, run_soon = self._reporter("disk"), partial(self._clock.run_soon, TRANSPORT)
            ways = report, run_soon, self._begun_bytes
            watches.append(Backlog(harvest.monitors, lambda: transport.backlog, limit, *ways))
        return watches

    def __enter__(self) -> Self:
        self.retry()
        self._clock.start()
        if self._transport is not None and self._transport.is_batch_waiting():
            self._clock.run_soon(TRANSPORT)
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        self._clock.close(PATIENCE_S)
        sentence = self._harvest.verdict if error is None else str(error)
        if error is not None or not self.goes_on:
            text = f"{sentence}\n\n{self._brief(None)}"
            self._notices.report("ended", "the harvest has ended", text)
        self._notices.close(self._settings.notices.timeout_s)

    def tick(self) -> None:
        """Called often by the main thread."""
        self._clock.tick()
        for request in take_pause_requests(self._settings.state):
            self._harvest.ask(request)
        if self._sampler.has_begun or self._harvest.has_work():  # rates need a beginning
            self._sampler.refresh()
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_EVERY_S
            if is_retry_requested(self._settings.state):
                self._clock.run_soon("retry")
            for watch in self._watches:
                watch()

    def finish(self) -> None:
        """The harvest has come to an end; what it did is written down."""
        if not self._harvest.was_stopped:
            self._clock.wait_for(TRANSPORT, self._harvest.stop)
        self._clock.close(PATIENCE_S)
        self._home()  # it may have gone since somebody last looked
        if self._guard is not None:
            self._guard.look()
            self.ask_graph()
        if self._harvest.fatal is not None:
            raise self._harvest.fatal
        if self._harvest.has_worked:
            self._ended(Outcome("snapshot", time.time(), 0.0, self.snapshot(), None))

    def ship_rest(self, show: Show) -> None:
        """The harvest has come to its end by itself: nothing more is added to what is here."""
        if self._transport is None or self._harvest.was_stopped:
            return
        begun, done, failure = time.monotonic(), None, None
        try:
            done = str(self._transport.ship(show=show))
        except HarvestError as error:
            failure = str(error)
            logger.warning("Assist: transport failed: %s", failure)
        seconds = time.monotonic() - begun
        self._ended(Outcome(TRANSPORT, time.time(), seconds, done, failure))

    # --- work of the clock -----------------------------------------------------------------

    def snapshot(self) -> str:
        self.sample()
        return self._harvest.pools.snapshot(self._settings.clock.keep).name

    def sample(self) -> str:
        self._sampler.keep()
        return "written"

    def retry(self) -> str:
        if is_shipping_requested(self._settings.state):
            self._clock.run_soon(TRANSPORT)
        revived = take_retry_requests(self._settings.state, self._harvest.pools)
        if revived:
            logger.warning("Assist: %d that had failed go back to work", revived)
        return f"{revived} go back to work"

    def ask_graph(self) -> str:
        """Is it still ours? One that does not answer is waited for by whoever writes."""
        try:
            if self._guard is not None:
                self._guard.ask()
        except Unavailable as error:
            return str(error)
        except Fatal as error:
            self._harvest.end(error)
        return "asked"

    def ship(self) -> str:
        """What was asked for by name, then all there is."""
        if self._transport is None:
            return "there is no transport"
        for name in take_shipping_requests(self._settings.state):
            self._transport.ship(name)
        return str(self._transport.ship())

    def _report_progress(self) -> str:
        since = time.time() - self._sampler.elapsed
        text = self._brief(Running(os.getpid(), since))
        self._notices.report("progress", "the harvest goes on", text)
        return "reported"

    def _facts(self) -> dict[str, str]:
        """Who works on what, which processes beside us, and who is left alone: for whoever looks
        from outside."""
        client, now = self._harvest.job.client, time.time()
        troubles = () if client is None else client.troubles()
        resting = [
            *(
                Resting(each.host, now + each.seconds, each.reason)
                for each in troubles
                if each.seconds
            ),
            *self._harvest.job.resting(),
        ]
        executor, pid = self._harvest.executor, os.getpid()
        beside = processes_fact(pid, processes_of(executor)) | nodes_fact(pid, nodes_of(executor))
        return beside | rests_fact(pid, resting) | at_work_fact(pid, self._at_work(now))

    def _at_work(self, now: float) -> list[AtWork]:
        """By holder; who has none lies ready only."""
        begun, monitors = now - time.monotonic(), self._harvest.monitors
        tasks = [each for one in monitors for each in self._harvest.pools.tasks(one.stage)]
        return [
            AtWork(
                each.holder,
                each.stage.name,
                each.uri,
                each.depth,
                each.attempts,
                begun + each.begun,
            )
            for each in sorted(tasks, key=lambda each: (each.stage.name, each.holder or ""))
            if each.holder
        ]

    # --- who gets notice -----------------------------------------------------------------------

    def _reporter(self, kind: Kind) -> Callable[[str, str], None]:
        return lambda title, text: self._notices.report(kind, title, text)

    def _brief(self, running: Running | None) -> str:
        """A state that can no longer be read has already been reported."""
        file, job = self._settings.pools_file, self._harvest.job.description
        try:
            seen = look(file, job.whole_file)
            return brief(View(file, seen, None, running, False, (), time.time(), job))
        except HarvestError:
            return ""

    def _ended(self, outcome: Outcome) -> None:
        """From the thread of the work: how it ended."""
        name, text = outcome.name, outcome.failure or outcome.done or ""
        logger.debug("Assist: %s took %.3f s: %s", name, outcome.seconds, text)
        try:
            if name in REMEMBERED:
                is_done = outcome.failure is None
                self._harvest.pools.note_clock_work(name, outcome.ended, is_done, text)
        except Fatal as error:
            self._harvest.end(error)
        if name == "snapshot" and outcome.failure:
            self._notices.report("disk", "a snapshot failed", text)
        if name == TRANSPORT:
            title = "transport failed" if outcome.failure else "transport done"
            self._notices.report("transport", title, text)
