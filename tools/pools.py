"""The pools: where every known URI is.

Promise: a known URI is in exactly one pool, in memory, on disk, and after `kill -9`.
Limit: one process, callers on any thread. The only lock of the harvest is here.

Which stages there are is the job's business: a stage `fetch` has the pools `to_fetch` and
`on_fetch`; `finished` and `failed` belong to all. Every move is one SQLite transaction. In memory
is only what is being worked on and a window of what comes next.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread

import orjson

from tools.checkpoint import Checkpointer
from tools.errors import StopHarvest
from tools.schema import FAILED
from tools.stage import Done, Found, Stage, Task
from tools.state import open_state
from tools.window import SIZE, Row, Window

LONGEST_DELAY_S = 7 * 86_400.0  # anything later is a clock that jumped, not a wish
CHECKPOINT_EVERY = 10_000  # rows written

INSERT = (
    "INSERT OR IGNORE INTO uri (uri, pool, rank, depth) "
    "SELECT value ->> 0, ?1, value ->> 1, value ->> 2 FROM json_each(?2) WHERE true"
)
LEASE = "INSERT INTO lease SELECT value, ? FROM json_each(?)"
RELEASE = "DELETE FROM lease WHERE id IN (SELECT value FROM json_each(?))"
LEAVE = (
    "UPDATE uri SET pool = ?, rank = ?, attempts = ?, not_before = ?, reason = ? "
    "WHERE id IN (SELECT value FROM json_each(?))"
)
ROWS = "SELECT coalesce(rank, 0), id, uri, depth, attempts FROM uri WHERE pool = ? "
READY = "AND not_before = 0 AND id NOT IN (SELECT id FROM lease) "
OLDEST = f"{ROWS} AND id > ? {READY} ORDER BY id LIMIT ?"
RANKED = f"{ROWS} AND rank IS NOT NULL AND pool > {FAILED} {READY} ORDER BY rank, id LIMIT ?"
PROMOTE = (
    "UPDATE uri SET not_before = 0 WHERE pool = ? AND not_before > 0 AND (not_before <= ? OR "
    "not_before > ?) RETURNING coalesce(rank, 0), id, uri, depth, attempts"
)
UNFINISHED_ABOVE = "SELECT 1 FROM uri WHERE pool = ? AND not_before > 0 AND rank < ? LIMIT 1"
POOL_OF = "SELECT name FROM uri JOIN pool ON pool.id = uri.pool WHERE uri = ?"
# What waits may have been ranked for another order, by a run with other settings.
SET_RANK = {
    "fifo": f"UPDATE uri SET rank = NULL WHERE pool = ? AND pool > {FAILED} AND rank IS NOT NULL",
    "levels": "UPDATE uri SET rank = depth WHERE pool = ? AND rank IS NOT depth",
    "deepest": "UPDATE uri SET rank = -depth WHERE pool = ? AND rank IS NOT -depth",
    "priority": "UPDATE uri SET rank = 0 WHERE pool = ? AND rank IS NULL",
}
SOME_OF_POOL = (
    "SELECT id, uri FROM uri WHERE pool = ? AND id > ? AND id NOT IN (SELECT id FROM lease) "
    "ORDER BY id LIMIT 1000"
)


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
        self.moves = 0
        self._stages = {stage.name: stage for stage in stages}
        self._active: dict[str, dict[str, Task]] = {stage.name: {} for stage in stages}
        self._windows = {stage.waiting: Window() for stage in stages}
        self._counts: dict[str, int] = {}
        self._db = open_state(path)
        self._checkpointer = Checkpointer(path, CHECKPOINT_EVERY)
        self._ids = self._declare_pools()
        self._counts = self._count()
        for pool, window in self._windows.items():
            window.next_due = self._earliest_due(pool)

    def __getattr__(self, name: str) -> Pool:
        if not name.startswith(("to_", "on_", "finished", "failed")):
            raise AttributeError(name)
        return Pool(self, name)

    def close(self) -> None:
        self._checkpointer.close()
        with self.changed:
            self._db.close()

    # --- moves -----------------------------------------------------------------------------

    def discover(self, *found: Found) -> int:
        """Let in URIs nobody knew; the number of those that are new."""
        with self.changed:
            known = sum(self.counts().values())
            with self._transaction():
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
            rows = self._windows[stage.waiting].take(places, same_rank=stage.order == "levels")
            with self._stop_if_unwritable():
                self._db.execute(LEASE, (stage.name, _json([row[1] for row in rows])))
            tasks = [_task(stage, row) for row in rows]
            for task in tasks:
                task.thread = thread_for(task)
                self._active[stage.name][task.uri] = task
            self.moves += len(tasks)
            return tasks

    def advance(self, *steps: tuple[Task, Done]) -> None:
        """These tasks are done here: move them on, and let in what they found."""
        with self.changed:
            live = [step for step in steps if self._is_leased(step[0])]
            if not live:
                return
            with self._transaction():
                moved = self._move_on(live)
                arrivals = self._insert(_found_by(live))
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
            pool, attempts = task.stage.waiting, task.attempts + spent
            not_before = time.time() + delay if delay > 0 else 0.0
            with self._transaction():
                self._leave([task], pool, task.rank, attempts, not_before, reason)
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
                with self._transaction():
                    self._leave([task], "failed", task.rank, task.attempts + 1, 0.0, reason)
                self._release(task)

    # --- reading ---------------------------------------------------------------------------

    def count(self, pool: str) -> int:
        with self.changed:
            stage = self._stages.get(pool[3:])
            if stage is None:
                return self._counts[pool]
            leased = len(self._active[stage.name])
            return leased if pool == stage.active else self._counts[pool] - leased

    def counts(self) -> dict[str, int]:
        with self.changed:
            return {name: self.count(name) for name in self._ids}

    def done(self, stage: Stage) -> int:
        """How many tasks this stage has brought to an end, over all runs."""
        return self._counts[stage.done]

    def is_ready(self, stage: Stage) -> bool:
        """Could a task be leased now?"""
        with self.changed:
            window = self._windows[stage.waiting]
            due = window.next_due
            if due is not None and not 0 < due - time.time() <= LONGEST_DELAY_S:
                self._promote_due(stage.waiting)
            if not window.rows and window.horizon is not None:
                window.fill(self._read_ready(stage, window.horizon[1]))
            return bool(window.rows) and not (
                stage.order == "levels" and self._is_level_unfinished(stage)
            )

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
            row = self._db.execute(POOL_OF, (uri,)).fetchone()
        return row[0] if row else None

    def uris(self, pool: str) -> Iterator[str]:
        """Every URI of a pool in the order of discovery, as of when each thousand is read."""
        if pool.startswith("on_"):
            yield from [task.uri for task in self.tasks(self._stages[pool[3:]])]
            return
        last = 0
        while True:
            with self.changed:
                rows = self._db.execute(SOME_OF_POOL, (self._ids[pool], last)).fetchall()
            if not rows:
                return
            yield from (uri for _, uri in rows)
            last = rows[-1][0]

    def seconds_to_next_due(self, stage: Stage) -> float | None:
        """How long until a delayed URI of this stage is ready; None if none is delayed."""
        due = self._windows[stage.waiting].next_due
        return None if due is None else max(0.0, due - time.time())

    def remember(self, facts: Mapping[str, str]) -> None:
        """Write down what a later start must know about this harvest."""
        with self.changed, self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def remembered(self) -> dict[str, str]:
        with self.changed:
            return dict(self._db.execute("SELECT key, value FROM meta"))

    # --- inside: on disk -------------------------------------------------------------------

    @contextmanager
    def _stop_if_unwritable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StopHarvest(
                f"the state cannot be written ({error}): see to it, then start again"
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, on disk and in the counts. Windows and leases follow after it."""
        before, changes = self._counts.copy(), self._db.total_changes
        with self._stop_if_unwritable():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._write_tally(self._counts)
                self._db.execute("COMMIT")
            except BaseException:
                self._counts = before
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        self.moves += 1
        with self._stop_if_unwritable():
            self._checkpointer.written(self._db.total_changes - changes, self._db)

    def _declare_pools(self) -> dict[str, int]:
        """Every pool this job knows has a row; what a dead process held waits again."""
        with self._stop_if_unwritable():
            for stage in self._stages.values():
                for name in (stage.waiting, stage.active):
                    self._db.execute("INSERT OR IGNORE INTO pool (name) VALUES (?)", (name,))
            self._db.execute("DELETE FROM lease")
            in_order_of_life = f"SELECT name, id FROM pool ORDER BY id <= {FAILED}, id"
            ids = dict(self._db.execute(in_order_of_life))
            for stage in self._stages.values():
                self._db.execute(SET_RANK[stage.order], (ids[stage.waiting],))
            return ids

    def _count(self) -> dict[str, int]:
        """Counted anew at every start, so that a tally can never stay wrong."""
        (tally,) = self._db.execute("SELECT counts FROM tally").fetchone()
        recorded = orjson.loads(tally)
        counts = dict.fromkeys(self._ids, 0) | {
            stage.done: recorded.get(stage.done, 0) for stage in self._stages.values()
        }
        names = {id_: name for name, id_ in self._ids.items()}
        for id_, count in self._db.execute("SELECT pool, count(*) FROM uri GROUP BY pool"):
            counts[names[id_]] = count
        if counts != recorded:
            self._write_tally(counts)
        return counts

    def _write_tally(self, counts: Mapping[str, int]) -> None:
        self._db.execute("UPDATE tally SET counts = ?", (_json(counts),))

    def _insert(self, found: Iterable[tuple[Found, int]]) -> dict[str, list[Row]]:
        """Insert what is new; by pool, the rows, where they can fall into the window."""
        by_stage: dict[str, list[tuple[str, int | None, int]]] = {}
        for group, depth in found:
            rank = self._stages[group.stage].rank(depth, group.priority)
            by_stage.setdefault(group.stage, []).extend((uri, rank, depth) for uri in group.uris)
        return {
            self._stages[name].waiting: self._insert_into(self._stages[name].waiting, uris)
            for name, uris in by_stage.items()
        }

    def _insert_into(self, pool: str, uris: list[tuple[str, int | None, int]]) -> list[Row]:
        values = (self._ids[pool], _json(uris))
        best = min((rank or 0 for _, rank, _ in uris), default=0)
        if not self._windows[pool].reaches(best):
            self._counts[pool] += self._db.execute(INSERT, values).rowcount
            return []
        returning = f"{INSERT} RETURNING coalesce(rank, 0), id, uri, depth, attempts"
        rows: list[Row] = self._db.execute(returning, values).fetchall()
        self._counts[pool] += len(rows)
        return rows

    def _move_on(self, steps: Sequence[tuple[Task, Done]]) -> dict[str, list[Row]]:
        """Write the moves; by waiting pool, the rows that enter it."""
        groups: dict[tuple[str, int | None], list[Task]] = {}
        for task, done in steps:
            stage = self._stages.get(done.to[3:])
            rank = stage.rank(task.depth, 0) if stage else None
            groups.setdefault((done.to, rank), []).append(task)
        entering: dict[str, list[Row]] = {}
        for (to, rank), tasks in groups.items():
            self._leave(tasks, to, rank)
            if to in self._windows:
                entering.setdefault(to, []).extend(_row(task, rank, 0) for task in tasks)
        return entering

    def _leave(
        self,
        tasks: Sequence[Task],
        to: str,
        rank: int | None,
        attempts: int = 0,
        not_before: float = 0.0,
        reason: str | None = None,
    ) -> None:
        ids = _json([task.id for task in tasks])
        self._db.execute(RELEASE, (ids,))
        self._db.execute(LEAVE, (self._ids[to], rank, attempts, not_before, reason, ids))
        for task in tasks:
            self._counts[task.stage.waiting] -= 1
            self._counts[to] += 1
            self._counts[task.stage.done] += to != task.stage.waiting

    def _read_ready(self, stage: Stage, last_id: int) -> list[Row]:
        """The next ready rows: of a fifo those after the last one seen, else the best of all."""
        pool = self._ids[stage.waiting]
        if stage.order == "fifo":
            return self._db.execute(OLDEST, (pool, last_id, SIZE)).fetchall()
        return self._db.execute(RANKED, (pool, SIZE)).fetchall()

    def _earliest_due(self, pool: str) -> float | None:
        (earliest,) = self._db.execute(
            "SELECT min(not_before) FROM uri WHERE pool = ? AND not_before > 0", (self._ids[pool],)
        ).fetchone()
        return earliest  # type: ignore[no-any-return]

    def _promote_due(self, pool: str) -> None:
        """Delayed URIs whose time has come (or whose time a clock jump made absurd) are ready."""
        now = time.time()
        with self._transaction():
            rows = self._db.execute(
                PROMOTE, (self._ids[pool], now, now + LONGEST_DELAY_S)
            ).fetchall()
        self._enter({pool: rows})
        self._windows[pool].next_due = self._earliest_due(pool)

    # --- inside: in memory -----------------------------------------------------------------

    def _is_leased(self, task: Task) -> bool:
        """False for a task that was taken back meanwhile: whatever it brings comes too late."""
        return self._active[task.stage.name].get(task.uri) is task

    def _release(self, task: Task) -> None:
        active = self._active[task.stage.name]
        del active[task.uri]
        if not active:
            self.changed.notify_all()

    def _enter(self, arrivals: Mapping[str, list[Row]]) -> None:
        for pool, rows in arrivals.items():
            self._windows[pool].add(rows)

    def _is_level_unfinished(self, stage: Stage) -> bool:
        rank = self._windows[stage.waiting].rows[0][0]
        if any((task.rank or 0) < rank for task in self._active[stage.name].values()):
            return True
        above = self._db.execute(UNFINISHED_ABOVE, (self._ids[stage.waiting], rank))
        return above.fetchone() is not None


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


def _json(value: object) -> str:
    """Lists go to SQLite as one value: a statement for each element would cost far more."""
    return orjson.dumps(value).decode()
