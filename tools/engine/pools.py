"""The pools: where every known URI is.

Promise: a known URI is in exactly one pool, in memory, on disk, and after `kill -9`.
Limit: one process, callers on any thread. The only lock of the harvest is here.

Which stages there are is the job's business: a stage `fetch` has the pools `to_fetch` and
`on_fetch`; `finished` and `failed` belong to all. Every move is one SQLite transaction. In memory
is only what is being worked on and a window of what comes next.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .arrivals import Arrivals, Entered
from .custody import KEEP_AT
from .leases import Leases
from .marks import MOST
from .moves import FAILED, aim_of, found_by, row_of
from .notes import REMEMBER
from .pool import Pool
from .reopening import Reopening
from .rows import Register
from .stage import Done, Found, Stage, Task
from .waiting import Waiting
from .window import Row


class Pools(Reopening):
    """Every move of every URI.

    `changed` is notified when somebody else may have to act: work has come into a waiting pool, or
    nothing is at work any more. Whoever ends a task looks for the next one itself.
    """

    def __init__(self, path: Path, stages: Sequence[Stage]) -> None:
        super().__init__(Register(path, stages))
        self._stages = {stage.name: stage for stage in stages}
        self._leases = Leases(stages, self.next_lease_run)
        self._waiting = Waiting(stages, self._register, self._leases, self.last_seen())
        self._arrivals = Arrivals(self._stages, self._register, self._waiting.reaches)

    @property
    def leases(self) -> int:
        """How many tasks were handed out since this file was opened."""
        return self._register.leases

    @property
    def at_work(self) -> int:
        """How many tasks are handed out now, without the lock."""
        return len(self._leases)

    def __getattr__(self, name: str) -> Pool:
        if not name.startswith(("to_", "on_", "finished", "failed")):
            raise AttributeError(name)
        return Pool(self, name)

    def close(self) -> None:
        with self.changed:
            self._register.close()

    # --- moves -----------------------------------------------------------------------------

    def discover(self, *found: Found) -> int:
        """Let in URIs nobody knew; the number of those that are new."""
        with self.changed:
            known = sum(self.counts().values())
            with self._register.transaction():
                entered = self._arrivals.let_in((group, group.depth or 0) for group in found)
            self._admit(entered)
            self.changed.notify_all()
            return sum(self.counts().values()) - known

    def lease(self, stage: Stage, places: int = 1) -> list[Task]:
        """The next tasks of a stage, which nobody holds yet; fewer if few are ready."""
        with self.changed:
            rows, is_lonely = self._waiting.take(stage, places)
            tasks = self._begin(stage, rows)
            if is_lonely:
                (self._leases.lonely,) = tasks
            return tasks

    def lease_begun(self, stage: Stage, begun: Sequence[str], places: int = 1) -> list[Task]:
        """Of these, the next that wait, due or not, to be ended with what they have."""
        tasks = self.lease_named(stage, begun, places)
        for task in tasks:
            task.is_hurried = True
        return tasks

    def lease_named(self, stage: Stage, uris: Sequence[str], places: int = 1) -> list[Task]:
        """Of these, the next that wait, due or not: somebody has done them, or shall."""
        with self.changed:
            return self._begin(stage, self._waiting.take_among(stage, uris, places))

    def advance(self, *steps: tuple[Task, Done]) -> set[int]:
        """These tasks are done here: move them on, and let in what they found. The tokens of those
        that were moved, not being taken back meanwhile."""
        with self.changed:
            live = [
                (held, done)  # as it stands here: its depth may have changed meanwhile
                for task, done in steps
                if (held := self._leases.with_token(task.token))
            ]
            if not live:
                return set()
            with self._register.transaction():
                moved = self._move_on(live)  # first: who sinks in its own batch comes round again
                entered = self._arrivals.let_in(found_by(live))
                for task, done in live:
                    self._register.count_up(done.tally)
                    if done.facts:
                        self._register.write(REMEMBER, *done.facts.items())
                    if done.kept_at:
                        self._register.write(KEEP_AT, (task.id, done.kept_at))
                    self._time(task, "failed" if done.to == FAILED else "done")
            self._release(*(task for task, _ in live))
            self._waiting.enter(moved)
            self._admit(entered)
            if (moved.keys() | entered.rows.keys()) - {task.stage.waiting for task, _ in live}:
                self.changed.notify_all()  # work for another stage
            return {task.token for task, _ in live}

    def retry_later(self, task: Task, reason: str, delay: float = 0.0, spent: bool = True) -> None:
        """Back to the waiting pool, not before `delay` seconds; `spent` counts an attempt."""
        with self.changed:
            if not self._leases.holds(task):
                return
            self._waiting.heed_clock()
            pool, attempts = task.stage.waiting, task.attempts + spent
            not_before = time.time() + delay if delay > 0 else 0.0
            with self._register.transaction():
                self._register.leave([task], pool, task.rank, attempts, not_before, reason)
                self._time(task, "retried")
            self._release(task)
            if not_before:
                self._waiting.delay(pool, not_before)
            else:
                self._waiting.enter({pool: [row_of(task, task.stage, task.rank, attempts)]})
            self.changed.notify_all()

    def died(self, task: Task, reason: str) -> int:
        """The process that worked on it is dead: it waits again, marked. How many marks it has;
        if that is one too many it stays where it is, to be given up."""
        with self.changed:
            if not self._leases.holds(task):
                return 0
            deaths = self._register.deaths(task) + 1
            if deaths < MOST:
                with self._register.transaction():
                    self._register.leave_marked(task, reason)
                    self._time(task, "retried")
                self._release(task)
                self.changed.notify_all()
            return deaths

    def give_up(self, task: Task, reason: str) -> None:
        """Park it in `failed`, with a reason a person understands."""
        self.advance((task, Done(FAILED, reason=reason)))

    def lane_changed(self, lane: str) -> None:
        """Somebody has set another moment for this lane: whoever waits for it looks again."""
        with self.changed:
            self._waiting.lane_changed(lane)
            self.changed.notify_all()

    # --- reading ---------------------------------------------------------------------------

    def count(self, pool: str) -> int:
        with self.changed:
            stage = self._stages.get(pool[3:])
            if stage is None:
                return self._register.counts[pool]
            leased = self._leases.number(stage)
            return leased if pool == stage.active else self._register.counts[pool] - leased

    def counts(self) -> dict[str, int]:
        with self.changed:
            return {name: self.count(name) for name in self._register.ids}

    def done(self, stage: Stage) -> int:  # tasks that it has brought to an end, over all runs
        return self._register.counts[stage.done]

    def is_ready(self, stage: Stage) -> bool:
        """Could a task be leased now?"""
        with self.changed:
            return self._waiting.is_ready(stage)

    def is_waiting(self, stage: Stage, uris: Sequence[str]) -> bool:
        """Could one of these be leased, due or not?"""
        with self.changed:
            return bool(self._waiting.among(stage, uris, 1))

    def tasks(self, stage: Stage) -> list[Task]:
        with self.changed:
            return self._leases.of(stage)

    def still_leased(self, tasks: Iterable[Task]) -> set[int]:
        """The tokens of those that were not taken back meanwhile."""
        with self.changed:
            return {task.token for task in tasks if self._leases.holds(task)}

    def task(self, token: int) -> Task | None:
        """What was handed out with this token, if it is still out. Without the lock, for which who
        brings a result would wait: asked again before it counts."""
        return self._leases.with_token(token)

    def holder_of(self, uri: str) -> str | None:
        """Empty if it is handed out and nobody has begun it."""
        with self.changed:
            task = self._leases.task_of(uri)
            return None if task is None else task.holder

    def pool_of(self, uri: str) -> str | None:
        with self.changed:
            if task := self._leases.task_of(uri):
                return task.stage.active
            return self._register.pool_of(uri)

    def uris(self, pool: str) -> Iterator[str]:
        """Every URI of a pool in the order of discovery, as of when each thousand is read."""
        if pool.startswith("on_"):
            yield from [task.uri for task in self.tasks(self._stages[pool[3:]])]
            return
        last = 0
        while True:
            with self.changed:
                rows = self._register.some_of(pool, last)
            if not rows:
                return
            yield from (uri for _, uri in rows)
            last = rows[-1][0]

    def seconds_to_next_due(self, stage: Stage) -> float | None:
        """Until a delayed URI of it is ready, or a lane may be asked; None if there is none."""
        with self.changed:
            return self._waiting.seconds_to_next_due(stage)

    def make_durable(self) -> None:
        """Everything so far survives a power cut."""
        with self.changed:
            self._register.make_durable()

    def snapshot(self, keep: int) -> Path:
        return self._register.snapshot(keep)  # nobody waits for it

    # --- inside ----------------------------------------------------------------------------

    def _admit(self, entered: Entered) -> None:
        """What a transaction let in is known in memory, too."""
        self._arrivals.remember(entered)
        self._waiting.enter(entered.rows)
        for pool, rows in entered.sunk.items():
            leased = self._leases.sink(rows, entered.again)
            self._waiting.change(pool, [row for row in rows if row[1] not in leased])
        self._wake_for_lanes()

    def _move_on(self, steps: Sequence[tuple[Task, Done]]) -> dict[str, list[Row]]:
        """Write the moves; by waiting pool, the rows that enter it."""
        groups: dict[tuple[str, str, int | None, int, str | None], list[Task]] = {}
        for task, done in steps:
            to = aim_of(task, done)
            stage = self._stages.get(to[3:])
            rank = stage.rank(task.depth, task.priority) if stage else None
            attempts = task.attempts + 1 if to == FAILED else 0
            way = (task.stage.name, to, rank, attempts, done.reason)
            groups.setdefault(way, []).append(task)
        entering: dict[str, list[Row]] = {}
        for (_, to, rank, attempts, reason), tasks in groups.items():
            self._register.leave(tasks, to, rank, attempts, reason=reason)
            if to in self._waiting:
                stage = self._stages[to[3:]]
                rows = [row_of(task, stage, rank, 0) for task in tasks]
                entering.setdefault(to, []).extend(rows)
        return entering

    def _begin(self, stage: Stage, rows: Sequence[Row]) -> list[Task]:
        if not rows:
            return []
        tasks = self._leases.make(stage, rows)
        self._register.lease(tasks)
        self._leases.begin(tasks)
        self._waiting.written(stage)
        self._wake_for_lanes()
        return tasks

    def _release(self, *tasks: Task) -> None:
        for task in tasks:
            self._leases.end(task)
            self._waiting.ended(task)
        if not self._leases:
            self.changed.notify_all()
        self._wake_for_lanes()

    def _wake_for_lanes(self) -> None:
        if self._waiting.is_sooner_than_told():
            self.changed.notify_all()
