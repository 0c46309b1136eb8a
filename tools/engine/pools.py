"""The pools: where every known URI is.

Promise: a known URI is in exactly one pool, in memory, on disk, and after `kill -9`.
Limit: one process, callers on any thread. The only lock of the harvest is here.

Which stages there are is the job's business: a stage `fetch` has the pools `to_fetch` and
`on_fetch`; `finished` and `failed` belong to all. Every move is one SQLite transaction. In memory
is only what is being worked on and a window of what comes next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Condition, Thread

from .marks import Marked
from .rows import LONGEST_DELAY_S, Register
from .setback import SetBack
from .stage import Done, Found, Stage, Task
from .window import Row, Window

logger = logging.getLogger(__name__)


class Pool(Mapping[str, Thread | None]):
    """One pool, read like a dict. An `on_` pool maps a URI to its thread, the others to None."""

    def __init__(self, pools: Pools, name: str) -> None:
        self._pools = pools
        self.name = name

    def __len__(self) -> int:
        return self._pools.count(self.name)

    def __contains__(self, uri: object) -> bool:
        return isinstance(uri, str) and self._pools.pool_of(uri) == self.name

    def __getitem__(self, uri: str) -> Thread | None:
        if uri not in self:
            raise KeyError(uri)
        return self._pools.thread_of(uri)

    def __iter__(self) -> Iterator[str]:
        return self._pools.uris(self.name)


class Pools:
    """Every move of every URI.

    `changed` is notified when somebody else may have to act: work has come into a waiting pool, or
    a stage has nothing at work any more. Whoever ends a task looks for the next one itself.
    """

    def __init__(self, path: Path, stages: Sequence[Stage]) -> None:
        self.changed = Condition()
        self._stages = {stage.name: stage for stage in stages}
        self._active: dict[str, dict[str, Task]] = {stage.name: {} for stage in stages}
        self._windows = {stage.waiting: Window() for stage in stages}
        self._register = Register(path, stages)
        self._lonely: Task | None = None  # at work with nobody beside it
        for pool, window in self._windows.items():
            window.next_due = self._register.earliest_due(pool)
        self._set_back = SetBack(self._register.last_seen())

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
            self._enter(arrivals)
            self.changed.notify_all()
            return sum(self.counts().values()) - known

    def lease(
        self, stage: Stage, thread_for: Callable[[Task], Thread], places: int = 1
    ) -> list[Task]:
        """The next tasks of a stage, each registered with its thread; fewer if few are ready."""
        with self.changed:
            if not self.is_ready(stage):
                return []
            marked = self._marked_next(stage, places)
            if not marked:
                window = self._windows[stage.waiting]
                rows = window.take(places, same_rank=stage.order == "levels")
                return self._begin(stage, rows, thread_for)
            if not marked[0].is_lonely:
                rows = [each.row for each in marked if not each.is_lonely]
                return self._begin(stage, rows, thread_for)
            (self._lonely,) = tasks = self._begin(stage, [marked[0].row], thread_for)
            return tasks

    def lease_begun(
        self,
        stage: Stage,
        begun: Sequence[str],
        thread_for: Callable[[Task], Thread],
        places: int = 1,
    ) -> list[Task]:
        """Of these, the next that wait, due or not, to be ended with what they have."""
        with self.changed:
            rows = self._waiting_among(stage, begun, places)
            if not rows:
                return []
            self._register.make_ready(rows)
            self._windows[stage.waiting].forget()  # they may be in it
            tasks = self._begin(stage, rows, thread_for)
            for task in tasks:
                task.is_hurried = True
            return tasks

    def advance(self, *steps: tuple[Task, Done]) -> None:
        """These tasks are done here: move them on, and let in what they found."""
        with self.changed:
            live = [step for step in steps if self._is_leased(step[0])]
            if not live:
                return
            with self._register.transaction():
                moved = self._move_on(live)
                arrivals = self._insert(_found_by(live))
                for _, done in live:
                    self._register.count_up(done.tally)
            for task, _ in live:
                self._release(task)
            self._enter(moved)
            self._enter(arrivals)
            if (moved.keys() | arrivals.keys()) - {task.stage.waiting for task, _ in live}:
                self.changed.notify_all()  # work for another stage

    def retry_later(self, task: Task, reason: str, delay: float = 0.0, spent: bool = True) -> None:
        """Back to the waiting pool, not before `delay` seconds; `spent` counts an attempt."""
        with self.changed:
            if not self._is_leased(task):
                return
            self._heed_clock()
            pool, attempts = task.stage.waiting, task.attempts + spent
            not_before = time.time() + delay if delay > 0 else 0.0
            with self._register.transaction():
                self._register.leave([task], pool, task.rank, attempts, not_before, reason)
            self._release(task)
            if not_before:
                window = self._windows[pool]
                window.next_due = min(window.next_due or not_before, not_before)
            else:
                self._enter({pool: [_row(task, task.rank, attempts)]})
            self.changed.notify_all()

    def give_up(self, task: Task, reason: str) -> None:
        """Park it in `failed`, with a reason a person understands."""
        with self.changed:
            if self._is_leased(task):
                with self._register.transaction():
                    self._register.leave(
                        [task], "failed", task.rank, task.attempts + 1, 0.0, reason
                    )
                self._release(task)

    def revive(self, reason: str = "") -> int:
        """What failed for a reason that holds this text waits again, with all its attempts."""
        with self.changed:
            with self._register.transaction():
                revived = self._register.revive(reason)
            for pool in (pool for pool, count in revived.items() if count):
                self._windows[pool].forget()
            self.changed.notify_all()
            return sum(revived.values())

    # --- reading ---------------------------------------------------------------------------

    def count(self, pool: str) -> int:
        with self.changed:
            stage = self._stages.get(pool[3:])
            if stage is None:
                return self._register.counts[pool]
            leased = len(self._active[stage.name])
            return leased if pool == stage.active else self._register.counts[pool] - leased

    def counts(self) -> dict[str, int]:
        with self.changed:
            return {name: self.count(name) for name in self._register.ids}

    def done(self, stage: Stage) -> int:
        """How many tasks this stage has brought to an end, over all runs."""
        return self._register.counts[stage.done]

    def tallied(self, name: str) -> int:
        """What the job's tasks have counted under this name, over all runs."""
        return self._register.counts.get(name, 0)

    def is_ready(self, stage: Stage) -> bool:
        """Could a task be leased now?"""
        with self.changed:
            self._heed_clock()
            window = self._windows[stage.waiting]
            due = window.next_due
            if due is not None and not 0 < due - time.time() <= LONGEST_DELAY_S:
                self._promote_due(stage.waiting)
            if not window.rows and window.horizon is not None:
                window.fill(self._register.ready(stage, window.horizon[1]))
            marked = self._marked_next(stage, 1)
            rows = [each.row for each in marked] or window.rows
            if not rows or self._lonely is not None:
                return False
            if marked and marked[0].is_lonely and any(self._active.values()):
                return False
            return stage.order != "levels" or not self._is_level_unfinished(stage, rows[0][0])

    def is_waiting(self, stage: Stage, uris: Sequence[str]) -> bool:
        """Could one of these be leased, due or not?"""
        with self.changed:
            return bool(self._waiting_among(stage, uris, 1))

    def tasks(self, stage: Stage) -> list[Task]:
        with self.changed:
            return list(self._active[stage.name].values())

    def thread_of(self, uri: str) -> Thread | None:
        with self.changed:
            tasks = (active[uri] for active in self._active.values() if uri in active)
            return next((task.thread for task in tasks), None)

    def pool_of(self, uri: str) -> str | None:
        with self.changed:
            for stage in self._stages.values():
                if uri in self._active[stage.name]:
                    return stage.active
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
        """How long until a delayed URI of this stage is ready; None if none is delayed."""
        due = self._windows[stage.waiting].next_due
        return None if due is None else max(0.0, due - time.time())

    # --- what is written beside the moves --------------------------------------------------

    def remember(self, facts: Mapping[str, str]) -> None:
        """Write down what a later start must know about this harvest."""
        with self.changed, self._register.transaction():
            self._register.remember(facts)

    def remembered(self) -> dict[str, str]:
        with self.changed:
            return self._register.remembered()

    def make_durable(self) -> None:
        """Everything so far survives a power cut."""
        with self.changed:
            self._register.make_durable()

    def snapshot(self, keep: int) -> Path:
        """Copy the state as it is now; nobody waits for it."""
        return self._register.snapshot(keep)

    def next_run(self) -> int:
        """The number of this run, for its samples."""
        with self.changed:
            return self._register.next_run()

    def seconds_worked(self) -> float:
        """In all runs so far, by their samples."""
        with self.changed:
            return self._register.seconds_worked()

    def sample(
        self,
        run: int,
        elapsed: float,
        traffic: Mapping[str, tuple[int, int]],
        replaced: float | None = None,
        stays: bool = True,
    ) -> None:
        """Write down how far it is now, and how many requests and bytes each host had since the
        last time; the sample of the moment `replaced` goes. One that stays is worth tidying up
        the old ones."""
        with self.changed, self._register.transaction():
            counts = self._register.counts | self.counts()
            self._register.sample(run, elapsed, counts, traffic, replaced, stays)

    def note_clock_work(self, name: str, ended: float, is_done: bool, text: str) -> None:
        """Write down how a piece of work of the clock ended."""
        with self.changed, self._register.transaction():
            self._register.note_clock_work(name, ended, is_done, text)

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
        if pool in self._windows and self._windows[pool].reaches(best):
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
            if to in self._windows:
                entering.setdefault(to, []).extend(_row(task, rank, 0) for task in tasks)
        return entering

    def _heed_clock(self) -> None:
        """Delays end by the wall clock, over restarts too: if it is set back, so are their ends."""
        if not (seconds := self._set_back.seconds()):
            return
        logger.warning("the clock was set back by %.0f s: delays end that much earlier", seconds)
        with self._register.transaction():
            self._register.bring_forward(seconds)
        for pool, window in self._windows.items():
            window.next_due = self._register.earliest_due(pool)

    def _promote_due(self, pool: str) -> None:
        with self._register.transaction():
            rows = self._register.promote(pool)
        self._enter({pool: rows})
        self._windows[pool].next_due = self._register.earliest_due(pool)

    def _waiting_among(self, stage: Stage, uris: Sequence[str], count: int) -> list[Row]:
        is_possible = bool(uris) and count > 0 and self._lonely is None
        return self._register.named(stage, uris, count) if is_possible else []

    def _begin(
        self, stage: Stage, rows: list[Row], thread_for: Callable[[Task], Thread]
    ) -> list[Task]:
        self._register.lease(stage, rows)
        tasks = [_task(stage, row) for row in rows]
        for task in tasks:
            task.thread = thread_for(task)
            self._active[stage.name][task.uri] = task
        return tasks

    def _marked_next(self, stage: Stage, count: int) -> list[Marked]:
        """Those that were at work when a process died, if it is their turn: nobody else is left, or
        nobody else of their level. All of them are of one level, where levels count."""
        rows = self._windows[stage.waiting].rows
        if rows and stage.order != "levels":
            return []
        marked = self._register.marked(stage, count)
        if not marked or stage.order != "levels":
            return marked
        level = marked[0].row[0]
        is_turn = not rows or level < rows[0][0]
        return [each for each in marked if each.row[0] == level] if is_turn else []

    def _is_leased(self, task: Task) -> bool:
        """False for a task that was taken back meanwhile: whatever it brings comes too late."""
        return self._active[task.stage.name].get(task.uri) is task

    def _release(self, task: Task) -> None:
        active = self._active[task.stage.name]
        del active[task.uri]
        if task is self._lonely:
            self._lonely = None
        if not active:
            self.changed.notify_all()

    def _enter(self, arrivals: Mapping[str, list[Row]]) -> None:
        for pool, rows in arrivals.items():
            if rows:
                self._windows[pool].add(rows)

    def _is_level_unfinished(self, stage: Stage, rank: int) -> bool:
        if any((task.rank or 0) < rank for task in self._active[stage.name].values()):
            return True
        return self._register.is_delayed_above(stage.waiting, rank)


def _found_by(steps: Iterable[tuple[Task, Done]]) -> Iterator[tuple[Found, int]]:
    """What the tasks found, and how deep: one below the finder, unless it says otherwise."""
    for task, done in steps:
        for group in done.found:
            yield group, task.depth + 1 if group.depth is None else group.depth


def _task(stage: Stage, row: Row) -> Task:
    key, id_, uri, depth, attempts = row
    return Task(id_, uri, stage, None if stage.order == "fifo" else key, depth, attempts)


def _row(task: Task, rank: int | None, attempts: int) -> Row:
    return rank or 0, task.id, task.uri, task.depth, attempts
