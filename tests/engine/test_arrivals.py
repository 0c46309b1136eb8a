"""What is found: notes and priorities that stay, depths that sink to the shortest way."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Order, Stage, Task
from tools.errors import StopHarvest

GET, LOOK = Stage("get", 9), Stage("look", 9, "levels")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pools.db"


@pytest.fixture
def pools(file: Path) -> Iterator[Pools]:
    with closing(Pools(file, [GET, LOOK])) as pools:
        yield pools


def lease(pools: Pools, stage: Stage) -> Task:
    (task,) = pools.lease(stage)
    return task


def finish(pools: Pools, task: Task, *found: Found, to: str = "finished") -> None:
    pools.advance((task, Done(to, found)))


def depths(pools: Pools) -> dict[str, int]:
    return dict(pools._register.read("SELECT uri, depth FROM uri"))


# --- plain ones ----------------------------------------------------------------------------


def test_what_is_found_at_once_at_several_depths_enters_once_with_its_own(pools: Pools) -> None:
    found = [
        Found("get", ["b", "a", "b"], depth=2),
        Found("look", ["a", "c", "7", "[1]", "null"], depth=0),
        Found("get", ["d", "c"], depth=2),
        Found("get", ["e", "a"], depth=5),
    ]
    assert pools.discover(*found) == 8
    assert depths(pools) == {
        "b": 2, "a": 2, "d": 2, "c": 2, "7": 0, "[1]": 0, "null": 0, "e": 5,
    }  # fmt: skip
    assert list(pools.to_get) == ["b", "a", "d", "c", "e"]


# --- notes and priorities ------------------------------------------------------------------


def test_a_note_enters_with_its_uri_and_the_first_one_stays(file: Path) -> None:
    hostile = 'x"\'\n\\u0000 ü 🐕 {"a": [1]}'
    with closing(Pools(file, [GET, LOOK])) as pools:
        pools.discover(Found("get", ["a", "b", "c"], notes=[hostile, None, "7"]))
        pools.discover(Found("get", ["a", "b"], notes=["late", "late"]))
        pools.discover(Found("get", ["d"]))
    with closing(Pools(file, [GET, LOOK])) as pools:
        tasks = pools.lease(GET, 9)
        notes = {"a": hostile, "b": None, "c": "7", "d": None}
        assert {task.uri: task.note for task in tasks} == notes
        pools.retry_later(tasks[0], "busy")
        finish(pools, tasks[1], to="to_look")
        finish(pools, tasks[2], to="to_look")
        assert lease(pools, GET).note == hostile
        assert [task.note for task in pools.lease(LOOK, 2)] == [None, "7"]


def test_notes_and_uris_are_as_many() -> None:
    with pytest.raises(ValueError, match="2 URIs with 1 notes"):
        Found("get", ["a", "b"], notes=["x"])


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_priority_is_kept_from_stage_to_stage(file: Path, is_reopened: bool) -> None:
    export = Stage("export", 9, "priority")
    pools = Pools(file, [GET, export])
    for uri, priority in {"low": 9, "normal": 5, "higher": -1}.items():
        pools.discover(Found("get", [uri], priority=priority))
    for task in pools.lease(GET, 3):
        finish(pools, task, to="to_export")
    if is_reopened:
        pools.close()
        Pools(file, [GET, Stage("export", 9)]).close()  # a run that has another order
        pools = Pools(file, [GET, export])
    tasks = pools.lease(export, 3)
    assert [(task.uri, task.priority) for task in tasks] == [
        *[("higher", -1), ("normal", 5), ("low", 9)]
    ]
    pools.close()


# --- sinking -------------------------------------------------------------------------------


def test_without_a_word_nobody_sinks(pools: Pools) -> None:
    pools.discover(Found("get", ["a"], depth=5))
    pools.discover(Found("get", ["a"], depth=1))
    assert depths(pools) == {"a": 5}


@pytest.mark.parametrize("order", ["fifo", "levels", "deepest", "priority", "fair"])
def test_who_waits_sinks_where_it_is(file: Path, order: Order) -> None:
    stage = Stage("get", 9, order)
    with closing(Pools(file, [stage, LOOK])) as pools:
        pools.discover(Found("get", ["a", "b"], depth=5), Found("get", ["c"], depth=3))
        assert pools.is_ready(stage)  # and so in memory
        pools.discover(Found("look", ["b"], depth=2, again="look"))
        assert pools.pool_of("b") == "to_get" and pools.count("to_look") == 0
        first = pools.lease(stage)
        expected = {"fifo": "a", "levels": "b", "deepest": "a", "priority": "a", "fair": "b"}
        assert [task.uri for task in first] == [expected[order]]
        found = {task.uri: task.depth for task in [*first, *pools.lease(stage, 9)]}
        assert found["b"] == 2 or order == "levels"


def test_who_sinks_at_work_finds_from_there_and_comes_round_again(pools: Pools) -> None:
    pools.discover(Found("get", ["a"], depth=5))
    task = lease(pools, GET)
    pools.discover(Found("get", ["a"], depth=2, again="look"))
    finish(pools, task, Found("get", ["child"]))
    assert depths(pools) == {"a": 2, "child": 3}
    assert pools.pool_of("a") == "to_look", "its worker may have judged by the old depth"
    finish(pools, lease(pools, LOOK))
    assert pools.pool_of("a") == "finished"


def test_what_could_not_be_written_is_not_remembered(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    found = Found("get", ["a"], depth=5, again="look")
    with monkeypatch.context() as patch:
        patch.setattr(pools._register, "_write_tally", refuse)
        with pytest.raises(StopHarvest):
            pools.discover(found)
    assert pools.discover(found) == 1
    assert pools.discover(found) == 0
    pools.discover(Found("get", ["a"], depth=6, again="look"))
    assert depths(pools) == {"a": 5}
    pools.discover(Found("get", ["a"], depth=2, again="look"))
    assert depths(pools) == {"a": 2}


def test_who_was_finished_comes_back_once_for_each_shorter_way(pools: Pools) -> None:
    pools.discover(Found("get", ["a"], depth=5))
    finish(pools, lease(pools, GET))
    for depth, pool in ((6, "finished"), (5, "finished"), (4, "to_look"), (3, "to_look")):
        pools.discover(Found("get", ["a"], depth=depth, again="look"))
        assert pools.pool_of("a") == pool
    assert pools.counts() == {
        **{"to_get": 0, "on_get": 0, "to_look": 1, "on_look": 0, "finished": 0, "failed": 0}
    }
    task = lease(pools, LOOK)
    assert (task.uri, task.depth, task.rank, task.attempts) == ("a", 3, 3, 0)


def test_who_sinks_in_its_own_batch_comes_round_again(pools: Pools) -> None:
    pools.discover(Found("look", ["a"], depth=3), Found("get", ["b"], depth=0))
    one, other = lease(pools, LOOK), lease(pools, GET)
    pools.advance(
        (one, Done("finished", [Found("get", ["child"], again="look")])),
        (other, Done("finished", [Found("look", ["a"], again="look")])),
    )
    assert depths(pools) == {"a": 1, "b": 0, "child": 4}
    assert pools.pool_of("a") == "to_look"
    finish(pools, lease(pools, LOOK), Found("get", ["child"], again="look"))
    assert depths(pools)["child"] == 2


def test_who_failed_sinks_and_stays(pools: Pools) -> None:
    pools.discover(Found("get", ["a"], depth=3))
    pools.give_up(lease(pools, GET), "gone")
    pools.discover(Found("get", ["a"], depth=1, again="look"))
    assert pools.pool_of("a") == "failed" and depths(pools) == {"a": 1}


def test_the_same_uri_twice_in_one_batch(pools: Pools) -> None:
    pools.discover(
        Found("get", ["a", "a"], depth=4, again="look"), Found("get", ["a"], depth=2, again="look")
    )
    assert depths(pools) == {"a": 2} and pools.count("to_get") == 1
    assert lease(pools, GET).depth == 2


def test_below_the_deepest_nobody_enters(file: Path) -> None:
    stage = Stage("get", 1, deepest=2)
    with closing(Pools(file, [stage])) as pools:
        pools.discover(Found("get", ["a"], depth=2), Found("get", ["b"], depth=3))
        finish(pools, lease(pools, stage), Found("get", ["c"]), Found("get", ["d"], depth=1))
        assert depths(pools) == {"a": 2, "d": 1}


# --- the shortest way ----------------------------------------------------------------------


def distances(graph: dict[str, list[str]], most: int) -> dict[str, int]:
    found, queue = {"0": 0}, deque(["0"])
    while queue:
        node = queue.popleft()
        for each in graph[node]:
            if each not in found and found[node] < most:
                found[each] = found[node] + 1
                queue.append(each)
    return found


class Crawl:
    """get (finds nothing) -> look (finds its children); ends in any order, and is killed."""

    def __init__(self, folder: Path, graph: dict[str, list[str]], most: int, seed: int) -> None:
        self.graph, self.chance, self.most = graph, Random(seed), most
        self.folder = folder
        order: Order = self.chance.choice(["fifo", "fair", "levels", "deepest"])
        lane = (lambda uri: uri[-1]) if order == "fair" else None
        self.stages = (Stage("get", 9, order, lane=lane, deepest=most), Stage("look", 9, "deepest"))
        self.pools = Pools(self.folder / "pools.db", self.stages)
        self.out: list[Task] = []

    def run(self) -> dict[str, int]:
        self.pools.discover(Found("get", ["0"], depth=0))
        while self.out or any(self.pools.count(stage.waiting) for stage in self.stages):
            self.step()
        assert self.pools.count("finished") == sum(self.pools.counts().values())
        return depths(self.pools)

    def step(self) -> None:
        for stage in self.stages:
            self.out += self.pools.lease(stage, self.chance.randrange(4))
        self.chance.shuffle(self.out)
        batch = self.chance.randrange(len(self.out) + 1)
        steps, self.out = self.out[:batch], self.out[batch:]
        self.pools.advance(*((task, self.done(task)) for task in steps))
        if self.chance.randrange(12) == 0:
            self.restart()

    def done(self, task: Task) -> Done:
        if task.stage.name == "get":
            return Done("to_look")
        return Done("finished", [Found("get", self.graph[task.uri], again="look")])

    def restart(self) -> None:
        """What a kill would leave, without the marks of one."""
        copy = Path(tempfile.mkdtemp(dir=self.folder.parent))
        for part in self.folder.glob("pools.db*"):
            shutil.copy(part, copy / part.name)
        for task in self.out:
            self.pools.retry_later(task, "stopped", spent=False)
        self.pools.close()
        self.folder, self.out = copy, []
        self.pools = Pools(copy / "pools.db", self.stages)
        self.pools._register.write("DELETE FROM mark", ())
        self.pools._register._marks.recount()
        for stage in self.stages:
            self.pools._waiting.forget(stage.waiting)


GRAPHS = st.integers(2, 14).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size
    )
)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(children=GRAPHS, most=st.integers(0, 5), seed=st.integers(0, 10_000))
def test_whatever_ends_first_each_depth_is_that_of_the_shortest_way(
    children: list[list[int]], most: int, seed: int
) -> None:
    graph = {str(node): [str(each) for each in to] for node, to in enumerate(children)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "first"
        folder.mkdir()
        crawl = Crawl(folder, graph, most, seed)
        try:
            assert crawl.run() == distances(graph, most)
            more = most + 2
            crawl.pools.close()
            crawl.stages = (Stage("get", 9, deepest=more), crawl.stages[1])
            crawl.pools = Pools(crawl.folder / "pools.db", crawl.stages)
            at_the_edge = [each for each in distances(graph, most).values() if each == most]
            assert crawl.pools.deepen(crawl.stages[1], most, more) == len(at_the_edge)
            assert crawl.run() == distances(graph, more)
        finally:
            crawl.pools.close()


def test_who_sinks_from_beyond_what_memory_holds_comes_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.engine.rows.SIZE", 4)
    monkeypatch.setattr("tools.engine.window.SIZE", 4)
    with closing(Pools(file, [LOOK])) as pools:
        pools.discover(Found("look", [str(number) for number in range(50)], depth=3))
        assert pools.is_ready(LOOK)
        pools.discover(Found("look", ["42"], depth=1, again="look"))
        assert [task.uri for task in pools.lease(LOOK, 9)] == ["42"]
