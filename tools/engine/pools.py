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

from ..journal.schema import FAILED
from .leases import Leases
from .marks import REASON
from .notes import Notes
from .pool import Pool
from .rows import ROWS, Register
from .stage import Done, Found, Stage, Task
from .waiting import Waiting
from .window import Row

KILLERS = f"{ROWS.replace('?', str(FAILED))} AND reason = '{REASON}'"


class Pools(Notes):
    """Every move of every URI.

    `changed` is notified when somebody else may have to act: work has come into a waiting pool, or
    a stage has nothing at work any more. Whoever ends a task looks for the next one itself.
    """

    def __init__(self, path: Path, stages: Sequence[Stage]) -> None:
        super().__init__(Register(path, stages))
        self._stages = {stage.name: stage for stage in stages}
        self._leases = Leases(stages, self.next_lease_run)
        self._waiting = Waiting(stages, self._register, self._leases, self.last_seen())

    @property
    def leases(self) -> int:
        """How many tasks were handed out since this file was opened."""
        return self._register.leases

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
                arrivals = self._insert((group, group.depth or 0) for group in found)
            self._waiting.enter(arrivals)
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
        with self.changed:
            rows = self._waiting.among(stage, begun, places)
            if not rows:
                return []
            self._register.make_ready(rows)
            self._waiting.forget(stage.waiting)  # they may be in its window
            tasks = self._begin(stage, rows)
            for task in tasks:
                task.is_hurried = True
            return tasks

    def advance(self, *steps: tuple[Task, Done]) -> set[int]:
        """These tasks are done here: move them on, and let in what they found. The tokens of those
        that were moved, not being taken back meanwhile."""
        with self.changed:
            live = [step for step in steps if self._leases.holds(step[0])]
            if not live:
                return set()
            with self._register.transaction():
                moved = self._move_on(live)
                arrivals = self._insert(_found_by(live))
                for task, done in live:
                    self._register.count_up(done.tally)
                    self._time(task, "done")
            for task, _ in live:
                self._release(task)
            self._waiting.enter(moved)
            self._waiting.enter(arrivals)
            if (moved.keys() | arrivals.keys()) - {task.stage.waiting for task, _ in live}:
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
                self._waiting.enter({pool: [_row(task, task.rank, attempts)]})
            self.changed.notify_all()

    def give_up(self, task: Task, reason: str) -> None:
        """Park it in `failed`, with a reason a person understands."""
        self.give_up_all((task, reason))

    def give_up_all(self, *failures: tuple[Task, str]) -> set[int]:
        """The tokens of those that were parked, not being taken back meanwhile."""
        with self.changed:
            live = [each for each in failures if self._leases.holds(each[0])]
            if not live:
                return set()
            with self._register.transaction():
                for task, reason in live:
                    self._register.leave(
                        [task], "failed", task.rank, task.attempts + 1, 0.0, reason
                    )
                    self._time(task, "failed")
            for task, _ in live:
                self._release(task)
            return {task.token for task, _ in live}

    def revive(self, reason: str = "") -> int:
        """What failed for a reason that holds this text waits again, with all its attempts."""
        with self.changed:
            with self._register.transaction():
                revived = self._register.revive(reason)
            for pool in (pool for pool, count in revived.items() if count):
                self._waiting.forget(pool)
            self.changed.notify_all()
            return sum(revived.values())

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

    def done(self, stage: Stage) -> int:
        """How many tasks this stage has brought to an end, over all runs."""
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
        """The task that was handed out with this token, if it is still out. Without the lock, for
        which whoever brings a result would wait: a single look, and asked again before it counts.
        """
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

    def killers(self) -> Iterator[Task]:
        """What is in `failed` because its process died with it again and again: nobody could bring
        that home. The tasks are handed out to nobody."""
        for stage in self._stages.values():
            where = f"{KILLERS} AND failed_in = {self._register.ids[stage.waiting]}"
            with self.changed:
                rows = self._register.read(where)
            yield from self._leases.make(stage, rows)

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
        """How long until a delayed URI of this stage is ready; None if none is delayed."""
        return self._waiting.seconds_to_next_due(stage)

    def make_durable(self) -> None:
        """Everything so far survives a power cut."""
        with self.changed:
            self._register.make_durable()

    def snapshot(self, keep: int) -> Path:
        """Copy the state as it is now; nobody waits for it."""
        return self._register.snapshot(keep)

    # --- inside ----------------------------------------------------------------------------

    def _insert(self, found: Iterable[tuple[Found, int]]) -> dict[str, list[Row]]:
        """Insert what is new; by pool, the rows, where they can fall into the window."""
        by_pool: dict[str, list[tuple[str, int | None, int]]] = {}
        for group, depth in found:
            stage = self._stages.get(group.stage)
            rank = stage.rank(depth, group.priority) if stage else None
            pool = stage.waiting if stage else group.stage
            by_pool.setdefault(pool, []).extend((uri, rank, depth) for uri in group.uris)
        return {pool: self._insert_into(pool, uris) for pool, uris in by_pool.items()}

    def _insert_into(self, pool: str, uris: list[tuple[str, int | None, int]]) -> list[Row]:
        best = min((rank or 0 for _, rank, _ in uris), default=0)
        if self._waiting.reaches(pool, best):
            return self._register.insert_and_read(pool, uris)
        self._register.insert(pool, uris)
        return []

    def _move_on(self, steps: Sequence[tuple[Task, Done]]) -> dict[str, list[Row]]:
        """Write the moves; by waiting pool, the rows that enter it."""
        groups: dict[tuple[str, str, int | None], list[Task]] = {}
        for task, done in steps:
            stage = self._stages.get(done.to[3:])
            rank = stage.rank(task.depth, 0) if stage else None
            groups.setdefault((task.stage.name, done.to, rank), []).append(task)
        entering: dict[str, list[Row]] = {}
        for (_, to, rank), tasks in groups.items():
            self._register.leave(tasks, to, rank)
            if to in self._waiting:
                entering.setdefault(to, []).extend(_row(task, rank, 0) for task in tasks)
        return entering

    def _begin(self, stage: Stage, rows: Sequence[Row]) -> list[Task]:
        if not rows:
            return []
        tasks = self._leases.make(stage, rows)
        self._register.lease(stage, rows)
        self._leases.begin(tasks)
        return tasks

    def _release(self, task: Task) -> None:
        self._leases.end(task)
        if not self._leases.number(task.stage):
            self.changed.notify_all()


def _found_by(steps: Iterable[tuple[Task, Done]]) -> Iterator[tuple[Found, int]]:
    """What the tasks found, and how deep: one below the finder, unless it says otherwise."""
    for task, done in steps:
        for group in done.found:
            yield group, task.depth + 1 if group.depth is None else group.depth


def _row(task: Task, rank: int | None, attempts: int) -> Row:
    return rank or 0, task.id, task.uri, task.depth, attempts
