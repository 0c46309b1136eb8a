"""Promise 1: a known URI is in exactly one pool, in memory, on disk, and after a crash."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.command import ROOT
from tools.engine import rows as register_module
from tools.engine import window as window_module
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Order, Stage, Task
from tools.errors import StopHarvest
from tools.journal.facts import typed
from tools.journal.reader import look

FETCH, EXTEND = Stage("fetch", 8), Stage("extend", 5)
URIS = st.lists(st.integers(0, 60).map(lambda n: f"/c/en/{n}"), max_size=6)
PLACES = st.integers(0, 1000)
TOS = st.sampled_from(["finished", "to_extend", "to_fetch"])


def lease(pools: Pools, stage: Stage = FETCH) -> Task:
    (task,) = pools.lease(stage)
    return task


def advance(pools: Pools, task: Task, to: str, *found: Found) -> None:
    pools.advance((task, Done(to, found)))


def leased_uris(pools: Pools, stage: Stage = FETCH) -> list[str]:
    uris = []
    while tasks := pools.lease(stage, places=7):
        uris += [task.uri for task in tasks]
    return uris


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pools.db"


@pytest.fixture
def pools(file: Path) -> Iterator[Pools]:
    result = Pools(file, [FETCH, EXTEND])
    yield result
    result.close()


LEASES = """
import os, pathlib, sys
from tools.engine.pools import Pools
from tools.engine.stage import Found, Stage
stage = Stage("fetch", 9)
pools = Pools(pathlib.Path(sys.argv[1]), [stage])
pools.discover(Found("fetch", "abc"))
print(*(task.token for task in pools.lease(stage, 9)), flush=True)
os._exit(9)
"""


def test_no_lease_has_the_token_of_another_over_restarts_too(file: Path) -> None:
    """The processes are killed; and each takes up again what the one before had leased."""
    runs = [
        subprocess.run([sys.executable, "-c", LEASES, file], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    tokens = [[int(token) for token in run.stdout.split()] for run in runs]
    assert [len(each) for each in tokens] == [3, 3, 3]
    assert len({token for each in tokens for token in each}) == 9
    assert [{token >> 40 for token in each} for each in tokens] == [{1}, {2}, {3}]


def test_a_state_that_hands_out_nothing_has_nothing_new_written_down(file: Path) -> None:
    for _ in range(2):
        with closing(Pools(file, [FETCH])) as pools:
            assert pools.remembered() == {}
    with closing(Pools(file, [FETCH])) as pools:
        pools.discover(Found("fetch", ["a"]))
        lease(pools)
        assert pools.remembered() and typed(pools.remembered(), {}) == {}, "no matter for people"


def test_a_uri_passes_every_pool_in_order(pools: Pools) -> None:
    pools.discover(Found("fetch", ["/c/en/dog"]))
    assert list(pools.to_fetch) == ["/c/en/dog"]
    task = lease(pools)
    assert pools.on_fetch["/c/en/dog"] == "", "nobody has begun it"
    task.holder = "fetch-1"
    assert pools.on_fetch["/c/en/dog"] == "fetch-1"
    assert len(pools.on_fetch) == 1
    assert "/c/en/dog" not in pools.to_fetch
    advance(pools, task, "to_extend")
    assert list(pools.to_extend) == ["/c/en/dog"]
    task = lease(pools, EXTEND)
    assert list(pools.on_extend) == ["/c/en/dog"]
    advance(pools, task, "finished")
    assert list(pools.finished) == ["/c/en/dog"]
    assert pools.counts() == {
        "finished": 1, "failed": 0, "to_fetch": 0, "on_fetch": 0, "to_extend": 0, "on_extend": 0,
    }  # fmt: skip


def test_what_is_known_is_not_discovered_again(pools: Pools) -> None:
    assert pools.discover(Found("fetch", ["/c/en/dog", "/c/en/cat", "/c/en/dog"])) == 2
    advance(pools, lease(pools), "finished", Found("fetch", ["/c/en/cat", "/c/en/dog"]))
    assert pools.discover(Found("extend", ["/c/en/dog"])) == 0
    assert (len(pools.to_fetch), len(pools.finished), len(pools.to_extend)) == (1, 1, 0)


def test_the_oldest_is_handed_out_first(pools: Pools) -> None:
    names = [f"/c/en/{n}" for n in random.Random(1).sample(range(10_000), 3000)]
    pools.discover(Found("fetch", names))
    assert leased_uris(pools) == names


@pytest.mark.parametrize(
    ("order", "expected"),
    [("deepest", ["c", "d", "b", "a"]), ("priority", ["d", "b", "c", "a"])],
)
def test_a_job_may_choose_another_order(file: Path, order: Order, expected: list[str]) -> None:
    stage = Stage("fetch", 8, order)
    pools = Pools(file, [stage])
    pools.discover(
        Found("fetch", ["a"], priority=9, depth=0), Found("fetch", ["b"], priority=1, depth=1)
    )
    pools.discover(
        Found("fetch", ["c"], priority=5, depth=3), Found("fetch", ["d"], priority=0, depth=2)
    )
    assert leased_uris(pools, stage) == expected
    pools.close()


def test_what_comes_later_but_ranks_higher_overtakes_a_full_window(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage("fetch", 8, "priority")
    monkeypatch.setattr(register_module, "SIZE", 4)
    monkeypatch.setattr(window_module, "SIZE", 4)
    pools = Pools(file, [stage])
    names = list(range(200))
    random.Random(3).shuffle(names)
    taken = []
    for number in names:
        pools.discover(Found("fetch", [str(number)], priority=number))
        if number % 7 == 0:
            taken.append(lease(pools, stage).uri)
    rest = leased_uris(pools, stage)
    assert rest == sorted(rest, key=int)
    assert sorted([*taken, *rest], key=int) == [str(number) for number in range(200)]
    pools.close()


@pytest.mark.parametrize(
    ("order", "depths"),
    [
        ("fifo", [2, 0, 1, 2, 0, 1]),
        ("deepest", [2, 2, 1, 1, 0, 0]),
        ("levels", [0, 0]),  # the rest waits until these are done
    ],
)
def test_what_waits_is_handed_out_in_the_order_that_this_run_chooses(
    file: Path, order: Order, depths: list[int]
) -> None:
    orders: tuple[Order, ...] = ("fifo", "levels")
    for earlier in orders:
        pools = Pools(file, [Stage("fetch", 8, earlier)])
        pools.discover(*(Found("fetch", [f"{earlier} {n}"], depth=n) for n in (2, 0, 1)))
        pools.close()
    stage = Stage("fetch", 8, order)
    pools = Pools(file, [stage])
    tasks = pools.lease(stage, 10)
    assert [task.depth for task in tasks] == depths
    pools.close()


def test_levels_wait_for_the_level_above(file: Path) -> None:
    stage = Stage("fetch", 8, "levels")
    pools = Pools(file, [stage])
    pools.discover(Found("fetch", ["root", "slow"]))
    root, slow = lease(pools, stage), lease(pools, stage)
    advance(pools, root, "finished", Found("fetch", ["child"]))
    assert not pools.lease(stage)  # slow is still at work one level above
    pools.retry_later(slow, "busy", delay=60)
    assert not pools.lease(stage)  # and still waits for its next attempt
    pools.close()


def test_a_delayed_uri_is_ready_when_its_time_comes(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools.discover(Found("fetch", ["/c/en/dog"]))
    pools.retry_later(lease(pools), "busy", delay=100)
    assert not pools.lease(FETCH)
    due = pools.seconds_to_next_due(FETCH)
    assert due is not None and 99 < due <= 100
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 101)
    assert lease(pools).attempts == 1
    assert pools.seconds_to_next_due(FETCH) is None


class WallClock:
    """Both clocks, set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._wall, self._monotonic = time.time(), time.monotonic()
        monkeypatch.setattr(time, "time", lambda: self._wall)
        monkeypatch.setattr(time, "monotonic", lambda: self._monotonic)

    def passes(self, seconds: float) -> None:
        self._wall += seconds
        self._monotonic += seconds

    def jumps(self, seconds: float) -> None:
        self._wall += seconds


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    return WallClock(monkeypatch)  # before the pools are opened


HOUR_S, DAY_S = 3600.0, 86_400.0


@pytest.mark.parametrize(
    "jump", [-0.5, -60.0, -3 * HOUR_S, -6 * DAY_S, -30 * DAY_S, -56 * 365 * DAY_S]
)
def test_a_clock_set_back_delays_nobody(wall_clock: WallClock, pools: Pools, jump: float) -> None:
    pools.discover(Found("fetch", ["/c/en/dog", "/c/en/cat"]))
    pools.retry_later(lease(pools), "busy", delay=100)
    wall_clock.passes(40)
    wall_clock.jumps(jump)
    pools.retry_later(lease(pools), "busy", delay=100)
    due = pools.seconds_to_next_due(FETCH)
    assert due is not None and 59 < due < 61
    wall_clock.passes(59)
    assert not pools.lease(FETCH)
    wall_clock.passes(2)
    assert leased_uris(pools) == ["/c/en/dog"]
    wall_clock.passes(38)
    assert not pools.lease(FETCH)
    wall_clock.passes(2)
    assert leased_uris(pools) == ["/c/en/cat"]


def test_a_clock_set_back_while_nobody_looked_is_noticed_when_somebody_waits(
    wall_clock: WallClock, pools: Pools
) -> None:
    pools.discover(Found("fetch", ["/c/en/dog", "/c/en/cat"]))
    dog, cat = lease(pools), lease(pools)
    pools.retry_later(dog, "busy", delay=100)
    wall_clock.jumps(-3 * HOUR_S)
    pools.retry_later(cat, "busy", delay=200)
    wall_clock.passes(101)
    assert leased_uris(pools) == ["/c/en/dog"]
    wall_clock.passes(100)
    assert leased_uris(pools) == ["/c/en/cat"]


@pytest.mark.parametrize("jump", [-3 * HOUR_S, -5 * DAY_S])
def test_a_clock_set_back_between_two_runs_delays_nobody(
    wall_clock: WallClock, file: Path, jump: float
) -> None:
    pools = Pools(file, [FETCH])
    pools.discover(Found("fetch", ["/c/en/dog"]))
    pools.retry_later(lease(pools), "busy", delay=100)
    pools.sample(pools.next_run(), 0.0, {})
    pools.close()
    wall_clock.jumps(jump)
    pools = Pools(file, [FETCH])
    assert not pools.lease(FETCH)
    wall_clock.passes(101)
    assert lease(pools).uri == "/c/en/dog"
    pools.close()


def test_a_clock_set_forward_makes_ready_and_changes_no_delay_that_begins_then(
    wall_clock: WallClock, pools: Pools
) -> None:
    pools.discover(Found("fetch", ["/c/en/dog"]))
    pools.retry_later(lease(pools), "busy", delay=100)
    wall_clock.jumps(3 * HOUR_S)
    pools.retry_later(lease(pools), "busy", delay=100)
    wall_clock.passes(99)
    assert not pools.lease(FETCH)
    wall_clock.passes(2)
    assert lease(pools).uri == "/c/en/dog"


def test_no_delay_is_longer_than_any_that_is_asked_for(file: Path, wall_clock: WallClock) -> None:
    """A state of before, of which nobody knows what its clock showed last."""
    pools = Pools(file, [FETCH])
    pools.discover(Found("fetch", ["/c/en/dog"]))
    pools.retry_later(lease(pools), "busy", delay=100)
    pools.close()
    wall_clock.jumps(-30 * DAY_S)
    pools = Pools(file, [FETCH])
    assert lease(pools).uri == "/c/en/dog"
    pools.close()


def test_what_is_called_in_to_be_ended_is_handed_out_once(
    wall_clock: WallClock, pools: Pools
) -> None:
    pools.discover(Found("fetch", ["/c/en/delayed", "/c/en/ready", "/c/en/new"]))
    pools.retry_later(lease(pools), "busy", delay=100)
    assert pools.is_ready(FETCH)  # the others are in the window
    called = ["/c/en/ready", "/c/en/delayed", "/c/en/unknown"]
    tasks = pools.lease_begun(FETCH, called, 9)
    assert {task.uri for task in tasks} == {"/c/en/ready", "/c/en/delayed"}
    assert all(task.is_hurried for task in tasks)
    assert not pools.is_waiting(FETCH, called) and not pools.lease_begun(FETCH, called)
    assert pools.is_ready(FETCH)  # the window is filled again
    wall_clock.passes(101)
    assert leased_uris(pools) == ["/c/en/new"]
    for task in tasks:
        pools.retry_later(task, "stopped", spent=False)
    assert leased_uris(pools) == ["/c/en/delayed", "/c/en/ready"]


def test_attempts_are_counted_only_when_spent(pools: Pools) -> None:
    pools.discover(Found("fetch", ["/c/en/dog"]))
    pools.retry_later(lease(pools), "source down", spent=False)
    pools.retry_later(lease(pools), "its own fault", spent=True)
    task = lease(pools)
    assert task.attempts == 1
    pools.give_up(task, "no such thing")
    assert list(pools.failed) == ["/c/en/dog"]


def test_a_task_that_was_taken_back_changes_nothing_any_more(pools: Pools) -> None:
    pools.discover(Found("fetch", ["/c/en/dog"]))
    late = lease(pools)
    pools.retry_later(late, "stopped", spent=False)
    again = lease(pools)
    advance(pools, late, "finished", Found("fetch", ["/c/en/late"]))
    pools.give_up(late, "late")
    assert list(pools.on_fetch) == ["/c/en/dog"]
    assert again.uri == "/c/en/dog" and len(pools.to_fetch) == 0


def test_a_crash_returns_what_was_at_work(file: Path, pools: Pools) -> None:
    pools.discover(Found("fetch", ["/c/en/dog", "/c/en/cat"]))
    lease(pools)
    after = reopened_after_crash(file)
    assert after.counts()["to_fetch"] == 2
    assert leased_uris(after) == ["/c/en/cat", "/c/en/dog"]  # it may have been to blame
    after.close()


def test_discovered_from_twenty_threads_while_it_moves_it_is_handed_out_once(pools: Pools) -> None:
    start = Barrier(20)
    handed_out: list[str] = []

    def discover_and_work() -> None:
        start.wait(timeout=30)
        for _ in range(20):
            pools.discover(Found("fetch", ["/c/en/dog"]))
            for task in pools.lease(FETCH):
                handed_out.append(task.uri)
                advance(pools, task, "finished", Found("fetch", ["/c/en/dog"]))

    run_all([Thread(target=discover_and_work) for _ in range(20)])
    assert handed_out == ["/c/en/dog"]


def test_a_reader_sees_the_same_counts(file: Path, pools: Pools) -> None:
    pools.discover(Found("fetch", [str(n) for n in range(10)]))
    lease(pools)
    pools.give_up(lease(pools), "no such thing")
    advance(pools, lease(pools), "finished")
    seen = look(file)
    assert seen.pools == pools.counts()
    assert seen.failures == {"no such thing": 1}
    assert seen.done["fetch"] == pools.done(FETCH) == 2


def test_a_state_that_cannot_be_written_stops_the_harvest_and_changes_nothing(
    pools: Pools,
) -> None:
    pools.discover(Found("fetch", ["/c/en/dog"]))
    task = lease(pools)
    before = pools.counts()
    pools._register._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StopHarvest, match="cannot be written"):
        advance(pools, task, "finished", Found("fetch", ["/c/en/cat"]))
    assert pools.counts() == before
    pools._register._db.execute("PRAGMA query_only = OFF")
    advance(pools, task, "finished")
    assert list(pools.finished) == ["/c/en/dog"]


def test_hostile_strings_are_kept_literally(pools: Pools) -> None:
    strange = [
        "/c/en/'; DROP TABLE uri; --",
        "/c/en/\u202eevil",
        "/c/en/😀",
        '/c/en/"\\',
        "/c/en/../..",
    ]
    pools.discover(Found("fetch", strange))
    assert leased_uris(pools) == strange


def run_all(threads: list[Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()


def reopened_after_crash(file: Path, stages: tuple[Stage, ...] = (FETCH, EXTEND)) -> Pools:
    """What a new process finds: exactly the bytes the dead one had handed to the system."""
    copy = Path(tempfile.mkdtemp(dir=file.parent))
    for part in file.parent.glob("pools.db*"):
        shutil.copy(part, copy / part.name)
    return Pools(copy / file.name, stages)


class Moves(RuleBasedStateMachine):
    """Random moves against a model that knows where each URI must be."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.file = self.folder / "pools.db"
        self.pools = Pools(self.file, [FETCH, EXTEND])
        self.model: dict[str, str] = {}
        self.tasks: list[Task] = []

    def teardown(self) -> None:
        self.pools.close()
        shutil.rmtree(self.folder)

    @rule(uris=URIS, stage=st.sampled_from(["fetch", "extend"]))
    def discover(self, uris: list[str], stage: str) -> None:
        new = {uri for uri in uris if uri not in self.model}
        assert self.pools.discover(Found(stage, uris)) == len(new)
        self.model |= dict.fromkeys(new, f"to_{stage}")

    @rule(stage=st.sampled_from([FETCH, EXTEND]), places=st.integers(1, 4))
    def lease(self, stage: Stage, places: int) -> None:
        tasks = self.pools.lease(stage, places)
        assert len(tasks) <= places
        for task in tasks:
            assert self.model[task.uri] == stage.waiting
            self.model[task.uri] = stage.active
            self.tasks.append(task)

    @rule(uris=URIS, moves=st.lists(st.tuples(PLACES, TOS), min_size=1, max_size=3))
    def advance(self, uris: list[str], moves: list[tuple[int, str]]) -> None:
        """Several at once, to different pools, finding the same."""
        tasks = [task for place, _ in moves if (task := self._some_task(place))]
        tos = [to for _, to in moves[: len(tasks)]]
        found = [Found("fetch", uris), Found("extend", uris)]
        self.pools.advance(*((task, Done(to, found)) for task, to in zip(tasks, tos, strict=True)))
        self.model |= {task.uri: to for task, to in zip(tasks, tos, strict=True)}
        if tasks:
            self.model |= {uri: "to_fetch" for uri in uris if uri not in self.model}

    @rule(place=PLACES, delay=st.sampled_from([0.0, 1000.0]), spent=st.booleans())
    def retry_later(self, place: int, delay: float, spent: bool) -> None:
        if task := self._some_task(place):
            self.pools.retry_later(task, "later", delay, spent)
            self.model[task.uri] = task.stage.waiting

    @rule(place=PLACES)
    def give_up(self, place: int) -> None:
        if task := self._some_task(place):
            self.pools.give_up(task, f"never in {task.stage.waiting}")
            self.model[task.uri] = "failed"

    @rule(waited=st.sampled_from(["to_fetch", "to_extend"]))
    def revive(self, waited: str) -> None:
        before = self.model
        assert self.pools.revive(f"in {waited}") == len(before) - len(
            {uri for uri, pool in self._where_everything_is().items() if pool == before[uri]}
        )
        self.model = {
            uri: waited if pool == "failed" and self.pools.pool_of(uri) == waited else pool
            for uri, pool in before.items()
        }

    @rule(seed=st.integers(0, 1000))
    def many_threads_at_once(self, seed: int) -> None:
        """Each thread makes random moves of its own; the model learns what each acknowledged."""
        start = Barrier(4)
        known: list[set[str]] = [set() for _ in range(4)]

        def move(number: int) -> None:
            chance = random.Random(seed * 10 + number)
            start.wait(timeout=30)
            for _ in range(6):
                found = [f"/c/en/{chance.randrange(60)}" for _ in range(3)]
                for task in self.pools.lease(chance.choice([FETCH, EXTEND]), 2):
                    ending = chance.randrange(4)
                    if ending == 0:
                        self.pools.retry_later(task, "later", spent=False)
                        continue
                    if ending == 1:
                        self.pools.give_up(task, f"never in {task.stage.waiting}")
                        continue
                    advance(self.pools, task, "finished", Found("fetch", found))
                    known[number] |= {task.uri, *found}

        run_all([Thread(target=move, args=(number,)) for number in range(4)])
        for each in known:
            for uri in each:
                assert self.pools.pool_of(uri) is not None
        self.model = self._where_everything_is()

    @rule()
    def crash(self) -> None:
        after = reopened_after_crash(self.file)
        self.pools.close()
        self.pools = after
        self.file = self.pools._register.path
        self.tasks = []
        self.model = {
            uri: "failed" if self._has_killed(uri) else pool.replace("on_", "to_")
            for uri, pool in self.model.items()
        }

    def _has_killed(self, uri: str) -> bool:
        """It was alone at work whenever a process died."""
        return self.model[uri].startswith("on_") and self.pools.pool_of(uri) == "failed"

    @invariant()
    def every_known_uri_is_in_exactly_one_pool(self) -> None:
        assert self._where_everything_is() == self.model
        counts = Counter(self.model.values())
        assert self.pools.counts() == {name: counts[name] for name in self.pools.counts()}
        assert look(self.file).pools == self.pools.counts()

    def _where_everything_is(self) -> dict[str, str]:
        where: dict[str, str] = {}
        for pool in self.pools.counts():
            for uri in self.pools.uris(pool):
                assert uri not in where, f"{uri} is in {where[uri]} and in {pool}"
                where[uri] = pool
        return where

    def _some_task(self, place: int) -> Task | None:
        """What is drawn must not depend on what threads did: it is a place in any list."""
        self.tasks = [task for task in self.tasks if self.pools.still_leased([task])]
        return self.tasks.pop(place % len(self.tasks)) if self.tasks else None


TestMoves = Moves.TestCase
TestMoves.settings = settings(
    max_examples=30,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_an_integrity_check_finds_nothing_after_all_that(file: Path, pools: Pools) -> None:
    pools.discover(Found("fetch", [str(n) for n in range(5000)]))
    for _ in range(500):
        advance(pools, lease(pools), "finished", Found("fetch", []))
    db = sqlite3.connect(file)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_facts_are_written_down_with_the_move_or_not_at_all(pools: Pools, file: Path) -> None:
    pools.discover(Found("fetch", ["/c/en/a"]))
    task = lease(pools)
    done = Done("to_fetch", facts={"position": "7"})
    pools.retry_later(task, "taken back", spent=False)
    pools.advance((task, done))
    assert "position" not in pools.remembered()
    pools.advance((lease(pools), done))
    assert pools.remembered()["position"] == "7"
