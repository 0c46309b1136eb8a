"""One run of a job, whichever it is, from the lock of its state folder to its summary.

The order matters. What an older harvest left is checked before anything is made; what a start makes
is taken away again if it fails, until the first tick: from then on there is something to keep.
"""

from __future__ import annotations

import gc
import sys
from argparse import Namespace
from contextlib import ExitStack, closing, suppress
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING

from ..assist.assistant import Assist
from ..assist.metrics import Metrics
from ..assist.run_log import Journal
from ..base import log
from ..base.log import file_only
from ..base.say import say
from ..base.text import amount, date
from ..engine.description import Description
from ..engine.executor import nodes_of, processes_of
from ..engine.harvest import USUAL, Harvest, Request, require_same
from ..engine.job import Job
from ..errors import HarvestError, StateDamaged
from ..journal.effective import effective_of
from ..journal.reader import Look, facts_in, look
from ..journal.snapshots import remove_unfinished, restore
from ..reports.progress import Progress, bar, summary
from ..settings import Settings
from .again import facts_of
from .beginning import Beginning
from .fresh import set_old_aside
from .sample_world import in_sample_world
from .values import values_of

if TYPE_CHECKING:
    from ..cluster.nodes import NodeExecutor

SWITCH_S = 0.02
"""After which a thread that computes is asked to make room. Ours do so by themselves far sooner,
whenever they read or write; to be asked as well only keeps the cores passing them to and fro."""


def harvest(job: Description, settings: Settings, options: Namespace) -> int:
    """Nobody else works in this state folder now."""
    if options.fresh:
        set_old_aside(job, settings, options)
    with Beginning(settings) as beginning:
        level = "debug" if options.verbose else settings.log.level
        as_json = settings.log.json or options.log_json
        log.set_up(settings.state / "log", level, as_json, options.quiet)
        with Journal(settings, options.typed) as journal:
            return work(job, settings, options, journal, beginning)


def work(
    job: Description,
    settings: Settings,
    options: Namespace,
    journal: Journal,
    beginning: Beginning,
) -> int:
    require_own(job, settings)
    remove_unfinished(settings.pools_file)
    notes: SimpleQueue[Request] = SimpleQueue()
    while one_round(job, settings, options, journal, beginning, notes):
        gc.collect()  # what a round held goes before the next one
    return 0


def one_round(
    job: Description,
    settings: Settings,
    options: Namespace,
    journal: Journal,
    beginning: Beginning,
    notes: SimpleQueue[Request],
) -> bool:
    """From opening the job to the moment of the next round; False if there is none."""
    with ExitStack() as stack:
        session = Session(job, settings, options, stack, beginning, notes)
        problem = session.run(beginning)
        seen = look(settings.pools_file, job.whole_file)
        report, verdict = session.report(seen), session.harvest.verdict
        counts = " ".join(f"{name}={count}" for name, count in seen.pools.items())
        journal.verdict = f"{verdict}; {counts}"
        if not options.quiet:
            say(f"{report}\n{verdict}" if problem is None else report)
        if problem is not None:
            raise problem
        return session.waits()


def require_own(job: Description, settings: Settings) -> None:
    """Before the job looks for what another one never had. Whoever opens it reports damage."""
    with suppress(StateDamaged):
        if settings.pools_file.exists():
            require_same(settings.state, facts_in(settings.pools_file), {"job": job.name})


class Session:
    """Everything a run needs, opened in this order; `stack` closes it."""

    def __init__(
        self,
        job: Description,
        settings: Settings,
        options: Namespace,
        stack: ExitStack,
        beginning: Beginning,
        notes: SimpleQueue[Request],
    ) -> None:
        is_later = beginning.is_over  # it is not the first round of this process
        stop, self._options, is_sample = Event(), options, vars(options).get("sample")
        self._before = settings
        self._settings = in_sample_world(job.name, settings, stack) if is_sample else settings
        self._job: Job = stack.enter_context(closing(job.opened(self._settings, options, stop)))
        beginning.job = self._job
        if options.resume and not is_later:
            restore(options.resume, settings.pools_file)
        file, attempts, grace_s = settings.pools_file, settings.attempts, settings.stop_grace_s
        self._nodes = self._executor_of_nodes(stop) if options.cluster else None
        executor = self._nodes or self._job.executor()
        self.harvest = stack.enter_context(
            closing(Harvest(self._job, file, stop, attempts, grace_s, executor, notes))
        )
        self.harvest.listen_for_pauses()
        require_same(settings.state, self.harvest.pools.remembered(), self._job.identity())
        self._job.open(self.harvest)
        if self._nodes is not None:
            self._nodes.begin(self.harvest.pools)
        sys.setswitchinterval(SWITCH_S)
        if not is_later:
            gc.freeze()  # modules live as long as we do: no need to look through them for garbage
        self._progress = self._shown()

    def _obey_wishes(self) -> None:
        """What is asked of it concerning its nodes."""
        if self._nodes is not None:
            from .coordinator import obey

            obey(self._settings.state, self.harvest, self._nodes)

    def _executor_of_nodes(self, stop: Event) -> NodeExecutor:
        from .coordinator import executor_of_nodes  # it takes the cluster with it

        return executor_of_nodes(self._job, self._settings, stop)

    def _shown(self) -> Progress:
        job, harvest = self._job, self.harvest
        stages = [stage for stage in job.stages if stage.name in job.workers]
        return Progress(
            *(harvest.pools, stages, job.counted, job.client, self._options.quiet, job.reading),
            is_paused=lambda: harvest.paused_since is not None,
            waits=job.waits,
            paused_slots=lambda: harvest.paused_slots,
            processes=lambda: processes_of(harvest.executor),
            nodes=lambda: nodes_of(harvest.executor),
        )

    # --- its course --------------------------------------------------------------------------

    def run(self, beginning: Beginning) -> HarvestError | None:
        """What to say instead of success, though it did end."""
        job, progress = self._job, self._progress

        def begin() -> None:
            """By the first tick: nothing can fail any more before there is something to keep."""
            if not beginning.is_over:
                job.begin()
                self.harvest.pools.remember(self._facts())
                beginning.is_over = True

        traffic = dict if job.client is None else job.client.traffic.take
        ways = traffic, job.transport, job.guard, job.begun_bytes
        metrics = Metrics(self.harvest, self._settings)
        with metrics, Assist(self.harvest, self._settings, *ways) as assist:
            try:
                self.harvest.run(begin, progress, assist.tick, self._obey_wishes)
            finally:
                progress.close()
            assist.finish()
            return self._end(assist)

    def _facts(self) -> dict[str, str]:
        """What it writes down of how it was begun."""
        values = values_of(self._settings, self._options, self._before)
        limit = {"limit": str(self._settings.limit or "")}
        return {**limit, **facts_of(self._options.typed), **effective_of(values)}

    def _end(self, assist: Assist) -> HarvestError | None:
        """The notice of the end has the verdict, so it is found before the assist goes."""
        self._job.finish(self.harvest)
        if self._nodes is not None and not self.harvest.was_stopped:
            self._nodes.finish()
        if self._job.transport is not None:
            with bar("shipped", self._job.transport.backlog, self._options.quiet) as show:
                assist.ship_rest(show)
        problem = self._job.problem(self.harvest)
        is_well = problem is None and self.harvest.verdict in USUAL
        assist.goes_on = is_well and self._job.next_round(self.harvest) is not None
        self.harvest.verdict = str(problem or self.harvest.verdict)
        return problem

    def waits(self) -> bool:
        """Until the next round; False if there is none, or somebody stops it before."""
        moment = self._job.next_round(self.harvest)
        while moment is not None:
            file_only.info("the next round begins %s", date(moment))
            if not self.harvest.wait_until(moment):
                return False
            if self._job.is_ready():
                return True
            moment = self._job.next_round(self.harvest)
        return False

    def report(self, seen: Look) -> str:
        """While everything is still open."""
        state = self._settings.state
        return summary(
            seen.pools,
            self._job.summary(),
            _by_group(seen),
            self._progress,
            {**self._job.places(), "state": state, "log": state / "log"},
            self._job.read(),
        )


def _by_group(seen: Look) -> dict[str, int]:
    """Why how many failed; the rare reasons in one row."""
    numbers = {group.reason_group: group.number for group in seen.groups}
    if rare := seen.rare_groups.groups:
        numbers[amount(rare, "other reason")] = seen.rare_groups.failures
    return numbers
