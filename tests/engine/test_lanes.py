"""Pools kept by lanes: only who may be asked now is handed out, in turn, and nobody waits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from tools.engine import lanes as lanes_module
from tools.engine.lanes import AT_ONCE, MOST
from tools.engine.marks import MOST as MOST_DEATHS
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Order, Stage, Task

FAR = 1e9


def host(uri: str) -> str:
    return uri.split("/")[0]


class Gates:
    """A host may be asked at a moment, by so many at once; it notes who began and ended."""

    def __init__(self, places: int = 1) -> None:
        self.moments: dict[str, float] = {}
        self.most = places
        self.at_work: Counter[str] = Counter()
        self.asked = 0
        self.rest_s = 0.0

    def ready_at(self, lane: str) -> float:
        self.asked += 1
        return self.moments.get(lane, 0.0)

    def places(self, lane: str) -> int:
        return self.most

    def begun(self, lane: str) -> None:
        self.at_work[lane] += 1
        assert self.at_work[lane] <= self.most

    def ended(self, lane: str, seconds: float) -> None:
        assert 0 <= seconds < 60
        self.at_work[lane] -= 1
        if self.rest_s:
            self.moments[lane] = time.monotonic() + self.rest_s


@pytest.fixture
def gate() -> Gates:
    return Gates()


def stage_with(gate: Gates | None, order: Order = "fair") -> Stage:
    return Stage("get", 99, order, lane=host, gate=gate)


@pytest.fixture
def stage(gate: Gates) -> Stage:
    return stage_with(gate)


@pytest.fixture
def pools(tmp_path: Path, stage: Stage) -> Iterator[Pools]:
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        yield pools


def leased(pools: Pools, stage: Stage, places: int = 100) -> list[Task]:
    tasks: list[Task] = []
    while len(tasks) < places and (more := pools.lease(stage, places - len(tasks))):
        tasks += more
    return tasks


def finish(pools: Pools, *tasks: Task, found: Found | None = None) -> None:
    pools.advance(*((task, Done("finished", [found] if found else [])) for task in tasks))


def uris(tasks: list[Task]) -> list[str]:
    return [task.uri for task in tasks]


# --- whose turn it is ----------------------------------------------------------------------


def test_lanes_are_served_in_turn_and_within_one_the_least_deep_first(
    pools: Pools, stage: Stage
) -> None:
    pools.discover(Found("get", ["a/3", "a/4"], depth=2), Found("get", ["a/1", "b/1"], depth=1))
    pools.discover(Found("get", ["c/1", "a/0"], depth=0))
    order = []
    while tasks := pools.lease(stage):
        order += uris(tasks)
        finish(pools, *tasks)
    assert order == ["a/0", "b/1", "c/1", "a/1", "a/3", "a/4"]


@pytest.mark.parametrize("gate", [Gates(3)])
def test_not_more_of_a_lane_than_it_has_places(pools: Pools, stage: Stage, gate: Gates) -> None:
    pools.discover(Found("get", [f"{lane}/{number}" for lane in "ab" for number in range(9)]))
    tasks = leased(pools, stage)
    assert Counter(task.lane for task in tasks) == {"a": 3, "b": 3}
    assert not pools.is_ready(stage) and pools.count("to_get") == 12
    finish(pools, tasks[0])
    assert [task.lane for task in leased(pools, stage)] == [tasks[0].lane]
    assert gate.at_work == {"a": 3, "b": 3}


@pytest.mark.parametrize("order", ["fifo", "levels", "priority", "fair"])
def test_every_end_of_a_task_frees_its_place(tmp_path: Path, order: Order, gate: Gates) -> None:
    stage = stage_with(gate, order)
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        pools.discover(Found("get", ["a/1", "a/2"]))
        ends: list[Callable[[Task], None]] = [
            lambda task: pools.retry_later(task, "stopped", spent=False),
            lambda task: pools.retry_later(task, "later", delay=0.0),
            lambda task: pools.give_up(task, "gone"),
            lambda task: finish(pools, task),
        ]
        for end in ends:
            (task,) = pools.lease(stage, 5)
            assert task.lane == "a" and gate.at_work["a"] == 1
            end(task)
            assert gate.at_work["a"] == 0
        assert (pools.count("finished"), pools.count("failed")) == (1, 1)


def test_another_order_decides_among_the_heads_of_lanes_that_may_be_asked(
    tmp_path: Path, gate: Gates
) -> None:
    stage = stage_with(gate, "priority")
    gate.moments = {"b": time.monotonic() + FAR}
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        for name, priority in {"a/9": 9, "a/5": 5, "b/1": 1, "c/3": 3, "d/7": 7}.items():
            pools.discover(Found("get", [name], priority=priority))
        assert uris(leased(pools, stage)) == ["c/3", "a/5", "d/7"]
        gate.moments = {}
        pools.lane_changed("b")
        assert uris(leased(pools, stage)) == ["b/1"]


def test_levels_wait_for_those_of_a_lane_that_rests(tmp_path: Path, gate: Gates) -> None:
    stage = stage_with(gate, "levels")
    gate.moments = {"slow": time.monotonic() + FAR}
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        pools.discover(Found("get", ["slow/1", "a/1"]), Found("get", ["a/2"], depth=1))
        (task,) = leased(pools, stage)
        finish(pools, task)
        assert task.uri == "a/1" and not pools.is_ready(stage)
        gate.moments = {}
        pools.lane_changed("slow")
        assert uris(leased(pools, stage)) == ["slow/1"]


def test_a_stage_may_have_lanes_only_to_be_fair(tmp_path: Path) -> None:
    stage = stage_with(None)
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        pools.discover(Found("get", [f"a/{n}" for n in range(3)] + ["b/0", "b/1"]))
        assert uris(pools.lease(stage, 9)) == ["a/0", "b/0", "a/1", "b/1", "a/2"]


def test_a_uri_without_a_lane_to_be_told_stops_nobody(tmp_path: Path, gate: Gates) -> None:
    def strict(uri: str) -> str:
        return host(uri) if "/" in uri else str(uri[99])

    stage = Stage("get", 9, "fair", lane=strict, gate=gate)
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        pools.discover(Found("get", ["nonsense", "a/1", ""]))
        assert uris(leased(pools, stage)) == ["nonsense", "a/1"]


# --- nobody sleeps -------------------------------------------------------------------------


def test_many_slow_lanes_do_not_slow_the_others(pools: Pools, stage: Stage, gate: Gates) -> None:
    """Counted, not timed: a lane that rests is asked for once, not with every task."""
    slow, fast = [f"slow{n}" for n in range(990)], [f"fast{n}" for n in range(10)]
    gate.moments = dict.fromkeys(slow, time.monotonic() + FAR)
    pools.discover(Found("get", [f"{lane}/{n}" for lane in slow for n in range(5)]))
    pools.discover(Found("get", [f"{lane}/{n}" for lane in fast for n in range(100)]))
    pools.lease(stage, 0)
    gate.asked, done = 0, 0
    while tasks := pools.lease(stage, 8):
        finish(pools, *tasks)
        done += len(tasks)
    assert done == 1000
    assert gate.asked < 10 * done
    assert pools.count("to_get") == 4950
    assert pools.seconds_to_next_due(stage) == pytest.approx(FAR, rel=1e-3)


def test_whoever_waits_is_told_when_the_first_lane_may_be_asked(
    pools: Pools, stage: Stage, gate: Gates
) -> None:
    now = time.monotonic()
    gate.moments = {"a": now + 500, "b": now + 100, "c": now + 900}
    pools.discover(Found("get", ["a/1", "b/1", "c/1"]))
    assert pools.seconds_to_next_due(stage) == pytest.approx(100, abs=5)
    assert not pools.is_ready(stage)
    gate.moments["b"] = 0.0
    assert not pools.is_ready(stage)  # nobody has said so
    pools.lane_changed("b")
    assert uris(leased(pools, stage)) == ["b/1"]
    assert pools.seconds_to_next_due(stage) == pytest.approx(500, abs=5)


def test_a_lane_whose_moment_has_come_is_ready_by_itself(
    pools: Pools, stage: Stage, gate: Gates
) -> None:
    gate.moments = {"a": time.monotonic() + 0.05}
    pools.discover(Found("get", ["a/1"]))
    with pools.changed:
        while not pools.is_ready(stage):
            seconds = pools.seconds_to_next_due(stage)
            assert seconds is not None and seconds <= 0.05
            pools.changed.wait(seconds + 0.001)
    assert uris(leased(pools, stage)) == ["a/1"]


def test_whoever_waits_too_long_is_woken(pools: Pools, stage: Stage, gate: Gates) -> None:
    """Its last task ends, and the lane rests for a moment only: nobody else would look again."""
    gate.rest_s = 0.05
    pools.discover(Found("get", ["a/1", "a/2", "b/1"]))
    first, other = leased(pools, stage)
    woken: list[float | None] = []

    def wait() -> None:
        with pools.changed:
            assert pools.seconds_to_next_due(stage) is None
            started.append(True)
            pools.changed.wait(20)
            woken.append(pools.seconds_to_next_due(stage))

    started: list[bool] = []
    waiter = Thread(target=wait)
    waiter.start()
    while not started:
        time.sleep(0.001)
    with pools.changed:  # it waits now
        finish(pools, first)
    waiter.join(30)
    assert woken and woken[0] is not None and woken[0] <= 0.05
    assert other.uri == "b/1"


# --- memory --------------------------------------------------------------------------------


def test_memory_holds_few_rows_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: Gates
) -> None:
    monkeypatch.setattr(lanes_module, "MOST", 50)
    stage = stage_with(gate)
    with closing(Pools(tmp_path / "pools.db", [stage])) as pools:
        pools.is_ready(stage)
        expected = {f"{n % 100}/{n}" for n in range(5000)}
        names = sorted(expected)
        Random(1).shuffle(names)
        for first in range(0, 5000, 500):
            pools.discover(Found("get", names[first : first + 500]))
        lanes = pools._waiting._lanes["to_get"]
        taken = set()
        while tasks := pools.lease(stage, 7):
            assert lanes.held <= 50 + AT_ONCE
            taken |= {task.uri for task in tasks}
            finish(pools, *tasks)
        assert taken == expected and not lanes._lanes and lanes.held == 0
    assert MOST <= 4000


@pytest.mark.parametrize("order", ["fair", "priority", "fifo", "levels", "deepest"])
@pytest.mark.parametrize("seed", [0, 2, 11])
def test_whatever_happens_everybody_is_handed_out_once_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Order, seed: int
) -> None:
    """Random arrivals, ends, delays, rests and restarts, with little memory."""
    monkeypatch.setattr(lanes_module, "MOST", 6)
    monkeypatch.setattr(lanes_module, "MOST_OF_LANE", 3)
    monkeypatch.setattr(lanes_module, "AT_ONCE", 2)
    chance, gate, file = Random(seed), Gates(2), tmp_path / "pools.db"
    stage = stage_with(gate, order)
    pools, known, out, finished = Pools(file, [stage]), set[str](), list[Task](), set[str]()
    for _ in range(200):
        act = chance.randrange(12)
        new = [f"{chance.randrange(6)}/{chance.randrange(300)}" for _ in range(3)]
        if act < 2:
            pools.discover(Found("get", new, chance.randrange(5), chance.randrange(5)))
            known |= set(new)
        elif act < 6:
            tasks = pools.lease(stage, chance.randrange(1, 5))
            assert not {task.uri for task in tasks} & ({task.uri for task in out} | finished)
            assert len({task.uri for task in tasks}) == len(tasks)
            out += tasks
        elif act < 9 and out:
            task = out.pop(chance.randrange(len(out)))
            finish(pools, task, found=Found("get", new, again="get"))
            finished.add(task.uri)
            finished -= {uri for uri in finished if pools.pool_of(uri) != "finished"}
            known |= set(new)
        elif act == 9 and out:
            task = out.pop(chance.randrange(len(out)))
            pools.retry_later(task, "later", chance.choice([0.0, 0.001]), spent=False)
        elif act == 10:
            lane = str(chance.randrange(6))
            gate.moments[lane] = chance.choice([0.0, time.monotonic() + FAR])
            pools.lane_changed(lane)
        elif chance.randrange(8) == 0:
            for task in out:
                pools.retry_later(task, "stopped", spent=False)
            pools.close()
            pools, out = Pools(file, [stage]), []
        assert sum(pools.counts().values()) == len(known)
        assert +gate.at_work == Counter(host(task.uri) for task in out)
    gate.moments = {}
    for number in range(6):
        pools.lane_changed(str(number))
    finish(pools, *out)
    deadline = time.monotonic() + 30
    while pools.count("to_get"):
        assert time.monotonic() < deadline, "they wait, and nobody is handed out"
        tasks = pools.lease(stage, 4)
        finish(pools, *tasks)
        if not tasks:
            time.sleep(0.001)
    assert pools.count("finished") == len(known)
    pools.close()


# --- over restarts -------------------------------------------------------------------------


def test_lanes_are_there_again_after_a_restart_and_gone_where_a_run_has_none(
    tmp_path: Path, gate: Gates
) -> None:
    file, stage, plain = tmp_path / "pools.db", stage_with(gate), Stage("get", 9)
    with closing(Pools(file, [plain])) as pools:
        pools.discover(Found("get", ["a/1", "a/2", "b/1"]))
    for _ in range(2):
        with closing(Pools(file, [stage])) as pools:
            assert uris(leased(pools, stage)) == ["a/1", "b/1"]
            for task in pools.tasks(stage):
                pools.retry_later(task, "stopped", spent=False)
            assert [(each.lane, each.waiting) for each in pools.lanes(stage)] == [
                ("a", 2),
                ("b", 1),
            ]
    with closing(Pools(file, [plain])) as pools:
        assert uris(leased(pools, plain)) == ["a/1", "a/2", "b/1"]
        assert {task.lane for task in pools.tasks(plain)} == {None}


def test_those_that_were_at_work_when_a_process_died_go_last_and_by_their_gate(
    tmp_path: Path, gate: Gates
) -> None:
    file, stage = tmp_path / "pools.db", stage_with(gate)
    pools = Pools(file, [stage])
    pools.discover(Found("get", ["a/1", "a/2", "b/1"]))
    leased(pools, stage)
    pools._register._checkpointer.close()
    pools._register._db.close()  # as if killed
    gate.at_work.clear()
    gate.moments = {"b": time.monotonic() + FAR}
    with closing(Pools(file, [stage])) as pools:
        (task,) = leased(pools, stage)
        assert task.uri == "a/2"
        finish(pools, task)
        assert uris(leased(pools, stage)) == ["a/1"]
        assert pools.seconds_to_next_due(stage) == pytest.approx(FAR, rel=1e-3)
        gate.moments = {}
        assert uris(leased(pools, stage)) == ["b/1"]
        assert gate.at_work == {"a": 1, "b": 1}
    assert MOST_DEATHS > 1


# --- a lane as a whole ---------------------------------------------------------------------


def test_everybody_who_waits_in_a_lane_can_be_named(tmp_path: Path, gate: Gates) -> None:
    stage, file = stage_with(gate), tmp_path / "pools.db"
    with closing(Pools(file, [stage])) as pools:
        pools.discover(Found("get", [f"dead/{n}" for n in range(10)] + ["alive/1"]))
        (at_work,) = (task for task in leased(pools, stage) if task.lane == "dead")
        assert sorted(pools.in_lane(stage, "dead")) == [f"dead/{n}" for n in range(1, 10)]
        assert at_work.uri == "dead/0" and pools.in_lane(stage, "nobody") == []
