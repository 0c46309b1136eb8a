"""The pools: where every known URI is.

Promise: a known URI is in exactly one pool, in memory, on disk, and after `kill -9`.
Limit: one process, callers on any thread. The only lock of the harvest is here.

Which stages there are is the job's business: a stage `fetch` has the pools `to_fetch` and
`on_fetch`; `finished` and `failed` belong to all. Every move is one SQLite transaction. In memory
is only what is being worked on and a window of what comes next.
"""

from __future__ import annotations

import heapq
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread

import orjson

from tools.errors import StopHarvest
from tools.stage import Found, Stage, Task
from tools.state import FAILED, Checkpointer, open_state

WINDOW = 1000
LONGEST_DELAY_S = 7 * 86_400.0  # anything later is a clock that jumped, not a wish
NEWEST = 1 << 62  # above every id there will be
CHECKPOINT_EVERY = 10_000  # rows written

INSERT = (
    "INSERT OR IGNORE INTO uri (uri, pool, rank, depth) "
    "SELECT value, ?1, ?2, ?3 FROM json_each(?4) WHERE true"
)
LEAVE = "UPDATE uri SET pool = ?, rank = ?, attempts = ?, not_before = ?, reason = ? WHERE id = ?"
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
SOME_OF_POOL = (
    "SELECT id, uri FROM uri WHERE pool = ? AND id > ? AND id NOT IN (SELECT id FROM lease) "
    "ORDER BY id LIMIT 1000"
)


Row = tuple[int, int, str, int, int]  # rank (0 if there is none), id, uri, depth, attempts


@dataclass(slots=True)
class _Window:
    """The first ready rows of one waiting pool. Every ready row below `horizon` is in here."""

    rows: list[Row] = field(default_factory=list)
    horizon: tuple[int, int] | None = (-NEWEST, 0)  # None: there is nothing beyond the rows
    next_due: float | None = None

    def reaches(self, rank: int, id_: int = NEWEST) -> bool:
        return self.horizon is None or (rank, id_) < self.horizon

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if self.reaches(row[0], row[1]):
                heapq.heappush(self.rows, row)
        if len(self.rows) > 4 * WINDOW:
            self.fill(heapq.nsmallest(WINDOW, self.rows))

    def fill(self, rows: list[Row]) -> None:
        self.rows = rows
        self.horizon = rows[-1][:2] if len(rows) >= WINDOW else None


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
        self._unsaved_rows = 0
        self._stages = {stage.name: stage for stage in stages}
        self._active: dict[str, dict[str, Task]] = {stage.name: {} for stage in stages}
        self._windows = {stage.waiting: _Window() for stage in stages}
        self._counts: dict[str, int] = {}
        self._db = open_state(path)
        self._checkpointer = Checkpointer(path, self.changed)
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
                arrivals = [self._insert(group, group.depth or 0) for group in found]
            self._enter(arrivals)
            self.changed.notify_all()
            return sum(self.counts().values()) - known

    def lease(self, stage: Stage, thread_for: Callable[[Task], Thread]) -> Task | None:
        """The next task of a stage, already registered with its thread; None if none is ready."""
        with self.changed:
            row = self._next_ready(stage)
            if row is None:
                return None
            key, id_, uri, depth, attempts = row
            rank = None if stage.order == "fifo" else key
            task = Task(id_, uri, stage, rank, depth, attempts)
            task.thread = thread_for(task)
            with self._stop_if_unwritable():
                self._db.execute("INSERT INTO lease VALUES (?, ?)", (id_, stage.name))
            heapq.heappop(self._windows[stage.waiting].rows)
            self._active[stage.name][uri] = task
            self.moves += 1
            return task

    def advance(self, task: Task, to: str, found: Iterable[Found] = ()) -> None:
        """The task is done here: move it on, and let in what it found."""
        with self.changed:
            if not self._is_leased(task):
                return
            next_stage = self._stages.get(to[3:])
            rank = next_stage.rank(task.depth, 0) if next_stage else task.rank
            with self._transaction():
                self._leave(task, to, rank)
                below = task.depth + 1
                arrivals = [
                    self._insert(group, below if group.depth is None else group.depth)
                    for group in found
                ]
            self._release(task)
            self._enter([(to, [(rank or 0, task.id, task.uri, task.depth, 0)]), *arrivals])
            if next_stage or any(pool != task.stage.waiting for pool, _ in arrivals):
                self.changed.notify_all()

    def retry_later(self, task: Task, reason: str, delay: float = 0.0, spent: bool = True) -> None:
        """Back to the waiting pool, not before `delay` seconds; `spent` counts an attempt."""
        with self.changed:
            if not self._is_leased(task):
                return
            attempts = task.attempts + spent
            not_before = time.time() + delay if delay > 0 else 0.0
            pool = task.stage.waiting
            with self._transaction():
                self._leave(task, pool, task.rank, attempts, reason, not_before)
            self._release(task)
            self.changed.notify_all()
            if not_before:
                window = self._windows[pool]
                window.next_due = min(window.next_due or not_before, not_before)
            else:
                row = (task.rank or 0, task.id, task.uri, task.depth, attempts)
                self._enter([(pool, [row])])

    def give_up(self, task: Task, reason: str) -> None:
        """Park it in `failed`, with a reason a person understands."""
        with self.changed:
            if self._is_leased(task):
                with self._transaction():
                    self._leave(task, "failed", task.rank, task.attempts + 1, reason)
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
            return self._next_ready(stage) is not None

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
        before = self._counts.copy()
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
        self._moved()

    def _declare_pools(self) -> dict[str, int]:
        """Every pool this job knows has a row; what a dead process held waits again."""
        with self._stop_if_unwritable():
            for stage in self._stages.values():
                for name in (stage.waiting, stage.active):
                    self._db.execute("INSERT OR IGNORE INTO pool (name) VALUES (?)", (name,))
            self._db.execute("DELETE FROM lease")
            in_order_of_life = f"SELECT name, id FROM pool ORDER BY id <= {FAILED}, id"
            return dict(self._db.execute(in_order_of_life))

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
        self._db.execute("UPDATE tally SET counts = ?", (orjson.dumps(counts).decode(),))

    def _insert(self, group: Found, depth: int) -> tuple[str, list[Row]]:
        """Insert what is new; the rows are returned if they can fall into the window."""
        stage = self._stages[group.stage]
        rank = stage.rank(depth, group.priority)
        self._unsaved_rows += len(group.uris)
        values = (self._ids[stage.waiting], rank, depth, orjson.dumps(group.uris).decode())
        if self._windows[stage.waiting].reaches(rank or 0):
            new = self._db.execute(INSERT + " RETURNING id, uri", values).fetchall()
            self._counts[stage.waiting] += len(new)
            return stage.waiting, [(rank or 0, id_, uri, depth, 0) for id_, uri in new]
        self._counts[stage.waiting] += self._db.execute(INSERT, values).rowcount
        return stage.waiting, []

    def _leave(
        self,
        task: Task,
        to: str,
        rank: int | None,
        attempts: int = 0,
        reason: str | None = None,
        not_before: float = 0.0,
    ) -> None:
        self._db.execute("DELETE FROM lease WHERE id = ?", (task.id,))
        self._db.execute(LEAVE, (self._ids[to], rank, attempts, not_before, reason, task.id))
        self._counts[task.stage.waiting] -= 1
        self._counts[to] += 1
        self._counts[task.stage.done] += to != task.stage.waiting

    def _read_ready(self, stage: Stage, last_id: int) -> list[Row]:
        """The next ready rows: of a fifo those after the last one seen, else the best of all."""
        pool = self._ids[stage.waiting]
        if stage.order == "fifo":
            return self._db.execute(OLDEST, (pool, last_id, WINDOW)).fetchall()
        return self._db.execute(RANKED, (pool, WINDOW)).fetchall()

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
        self._enter([(pool, rows)])
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

    def _enter(self, arrivals: Iterable[tuple[str, list[Row]]]) -> None:
        for pool, rows in arrivals:
            if pool in self._windows:
                self._windows[pool].add(rows)

    def _next_ready(self, stage: Stage) -> Row | None:
        window = self._windows[stage.waiting]
        due = window.next_due
        if due is not None and not 0 < due - time.time() <= LONGEST_DELAY_S:
            self._promote_due(stage.waiting)
        if not window.rows and window.horizon is not None:
            window.fill(self._read_ready(stage, window.horizon[1]))
        if not window.rows or (stage.order == "levels" and self._is_level_unfinished(stage)):
            return None
        return window.rows[0]

    def _is_level_unfinished(self, stage: Stage) -> bool:
        rank = self._windows[stage.waiting].rows[0][0]
        if any((task.rank or 0) < rank for task in self._active[stage.name].values()):
            return True
        above = self._db.execute(UNFINISHED_ABOVE, (self._ids[stage.waiting], rank))
        return above.fetchone() is not None

    def _moved(self) -> None:
        self.moves += 1
        self._unsaved_rows += 1
        if self._unsaved_rows >= CHECKPOINT_EVERY:
            self._unsaved_rows = 0
            self._checkpointer.wake()
