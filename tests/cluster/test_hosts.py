"""What a node writes down of hosts is done again where it is decided who is asked when, and what
cannot be right is not."""

from __future__ import annotations

import math
from contextlib import suppress
from random import Random
from threading import Event
from typing import Any

import pytest

from tests.support.chance import any_seed
from tools.cluster.hosts import MOST_EVENTS, HostReports, NodeHosts
from tools.engine.stage import Done, Stage, Task
from tools.errors import ComeBack, Interrupted, RetryLater
from tools.network.hosts import Hosts

pytestmark = pytest.mark.timeout(60)

LANE, OTHER = "a.example", "b.example:8080"
STAGE = Stage("visit", 1)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Impatient(Event):
    """Nobody waits for it, but it knows how long somebody would have."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        return self.is_set()


class Scene:
    """A coordinator and two nodes, whose clocks show something else."""

    def __init__(self, delay_s: float = 2.0, per_host: int = 1) -> None:
        self.clock, self.there = Clock(), Clock()
        self.there.now = 77_000.0
        self.hosts = Hosts(delay_s, 0.0, per_host, 30.0, self.clock)
        self.reports = HostReports(self.hosts, self.clock)
        self.stop = Impatient()
        self.nodes = [NodeHosts(self.stop, self.there) for _ in range(2)]
        self._tokens = iter(range(1, 1000))

    def after(self, seconds: float) -> None:
        self.clock.now += seconds
        self.there.now += seconds

    def handed_out(self, uri: str = "1 GET http://a.example/") -> Task:
        task = Task(1, uri, STAGE, None, 0, 0, token=next(self._tokens), lane=LANE)
        self.hosts.begun(LANE)
        return task

    def done(self, node: int, task: Task, *steps: Any, seconds: float = 0.0) -> Any:
        """Its steps are done by a node, at once; what it brings home."""
        hosts = self.nodes[node]

        def work(_task: Task) -> Done:
            for step in steps:
                step(hosts)
            return Done("finished")

        hosts.polite(work)(task)
        self.after(seconds)
        return hosts.leaving(task.uri)


def asking(hosts: NodeHosts) -> None:
    hosts.asking(LANE)


def trouble(hosts: NodeHosts) -> None:
    hosts.trouble(LANE, "it does not answer")


def test_the_delay_counts_from_the_request_not_from_the_task_or_its_result() -> None:
    scene = Scene(delay_s=10.0)
    task = scene.handed_out()
    scene.reports.outgoing(task)
    scene.after(5.0)  # in the queue
    said = scene.done(0, task, asking, seconds=3.0)
    scene.reports.incoming(task, Done("finished"), said)
    scene.hosts.ended(LANE, 0.0)
    assert scene.hosts.ready_at(LANE) == pytest.approx(scene.clock.now + 10.0 - 3.0)


def test_nobody_has_asked_before_he_was_told_to() -> None:
    scene = Scene(delay_s=10.0)
    task = scene.handed_out()
    scene.reports.outgoing(task)
    scene.after(1.0)
    said = {"took_s": 0.0, "events": [["asking", LANE, 5000.0, None, ""]]}
    scene.reports.incoming(task, Done("finished"), said)
    scene.hosts.ended(LANE, 0.0)
    assert scene.hosts.ready_at(LANE) == pytest.approx(scene.clock.now + 9.0)


def test_of_one_that_was_handed_out_in_another_life_the_age_is_not_believed() -> None:
    scene = Scene(delay_s=10.0)
    task = scene.handed_out()
    said = scene.done(0, task, asking, seconds=9.0)
    scene.reports.incoming(task, Done("finished"), said)
    assert scene.hosts.ready_at(LANE) == pytest.approx(scene.clock.now + 10.0)


@pytest.mark.parametrize("said", [None, {"took_s": 0.0, "events": []}])
def test_who_says_nothing_may_have_asked_just_now(said: object) -> None:
    scene = Scene(delay_s=10.0)
    task = scene.handed_out()
    scene.after(100.0)
    scene.reports.incoming(task, Interrupted("x"), said)
    assert scene.hosts.ready_at(LANE) == pytest.approx(scene.clock.now + 10.0)


def test_a_host_with_a_delay_gets_one_task_at_a_time_from_nodes() -> None:
    assert Scene(delay_s=1.0, per_host=4).hosts.places(LANE) == 1
    hosts = Scene(delay_s=0.0, per_host=4).hosts
    assert hosts.places(LANE) == 4
    hosts.crawl_delay(LANE, 5.0)
    assert hosts.places(LANE) == 1


def test_failures_of_several_nodes_are_those_of_one_host() -> None:
    """Each has seen it fail once or twice; together that is enough for it to rest."""
    scene, results = Scene(), []
    for node in (0, 1, 0):
        task = scene.handed_out()
        said = scene.done(node, task, asking, trouble)
        results.append(scene.reports.incoming(task, RetryLater("away"), said))
    assert [type(each) for each in results] == [RetryLater, RetryLater, ComeBack]
    assert scene.hosts.resting()[0][0] == LANE


def test_one_answer_forgives_all() -> None:
    scene = Scene()
    for step in (trouble, trouble, lambda hosts: hosts.answered(LANE), trouble):
        task = scene.handed_out()
        scene.reports.incoming(task, Done("finished"), scene.done(0, task, asking, step))
    assert scene.hosts.resting() == []


def test_rests_and_crawl_delays_reach_those_who_hand_out() -> None:
    scene = Scene()
    task = scene.handed_out()
    steps = [asking, lambda hosts: hosts.rest(LANE, 50.0, "HTTP 429")]
    steps.append(lambda hosts: hosts.crawl_delay(LANE, 600.0))
    scene.reports.incoming(task, ComeBack("pause", 0.0), scene.done(0, task, *steps))
    assert scene.hosts.gap(LANE) == 30.0  # the cap
    assert scene.hosts.ready_at(LANE) == pytest.approx(scene.clock.now + 50.0)


def test_a_crawl_delay_is_said_again_with_every_task() -> None:
    """Who hands out may have been started anew, and nobody reads robots.txt again for that."""
    scene = Scene()
    scene.done(0, scene.handed_out(), lambda hosts: hosts.crawl_delay(LANE, 7.0))
    said = scene.done(0, scene.handed_out(), asking)
    assert [each[0] for each in said["events"]] == ["crawl_delay", "asking"]


def test_what_another_node_may_have_begun_waits_for_the_delay() -> None:
    scene = Scene(delay_s=0.2)
    task = scene.handed_out()
    first = scene.reports.outgoing(task)
    assert first == {"gap_s": 0.2, "again": False}
    assert scene.reports.outgoing(task) == {"gap_s": 0.2, "again": True}
    for said, is_again in ((first, False), (first, True), ({**first, "again": True}, False)):
        scene.nodes[0].arrived(task.uri, said, is_again)
        scene.done(0, task, asking)
    assert scene.stop.waited == [0.2, 0.2]


def test_while_it_waits_it_can_be_stopped() -> None:
    scene = Scene(delay_s=600.0)
    task = scene.handed_out()
    scene.nodes[0].arrived(task.uri, scene.reports.outgoing(task), True)
    scene.stop.set()
    with pytest.raises(Interrupted):
        scene.done(0, task, asking)


GOOD = ["asking", LANE, 0.5, None, ""]
WRONG: list[Any] = [
    [],
    {"events": []},
    {"took_s": -1, "events": []},
    {"took_s": math.nan, "events": []},
    {"took_s": 0.0, "events": {}},
    {"took_s": 0.0, "events": [GOOD] * (MOST_EVENTS + 1)},
    *(
        {"took_s": 0.0, "events": [GOOD, event]}
        for event in (
            "asking",
            GOOD[:4],
            ["ended", LANE, 0.5, None, ""],
            ["asking", 7, 0.5, None, ""],
            ["asking", "a b", 0.5, None, ""],
            ["asking", "a/b", 0.5, None, ""],
            ["asking", "x" * 301, 0.5, None, ""],
            ["asking", LANE, -0.5, None, ""],
            ["asking", LANE, True, None, ""],
            ["asking", LANE, math.inf, None, ""],
            ["rest", OTHER, 0.5, 60.0, ""],
            ["trouble", OTHER, 0.5, None, ""],
            ["crawl_delay", OTHER, 0.5, 60.0, ""],
            ["crawl_delay", LANE, 0.5, None, ""],
            ["rest", LANE, 0.5, "60", ""],
            ["rest", LANE, 0.5, 60.0, None],
            ["rest", LANE, 0.5, 60.0, "x" * 1001],
        )
    ),
    {"took_s": 0.0, "events": [["asking", f"h{n}.example", 0.5, None, ""] for n in range(31)]},
]


@pytest.mark.parametrize("said", WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_right_is_done_by_nobody(said: object) -> None:
    scene = Scene()
    task = scene.handed_out()
    with pytest.raises(ValueError, match="host"):
        scene.reports.incoming(task, Done("finished"), said)
    assert len(scene.hosts) == 1 and scene.hosts.resting() == []
    assert scene.hosts.gap(LANE) == 2.0


def test_where_it_was_redirected_to_counts_too() -> None:
    scene = Scene()
    task = scene.handed_out()
    said = scene.done(0, task, asking, lambda hosts: hosts.asking(OTHER))
    scene.reports.incoming(task, Done("finished"), said)
    assert scene.hosts.ready_at(OTHER) == pytest.approx(scene.clock.now + 2.0)


def test_whatever_is_said_no_host_is_asked_sooner_and_only_its_own_rests() -> None:
    seed = any_seed()
    print(f"seed {seed}")
    random = Random(seed)
    values: list[Any] = [None, True, -1, 0, 1e300, math.nan, "", LANE, OTHER, [], {}, "asking"]
    for _ in range(2000):
        scene = Scene()
        task = scene.handed_out()
        scene.reports.outgoing(task)
        before = scene.hosts.ready_at(LANE)
        events = [list(GOOD) for _ in range(3)]
        for event in events:
            event[0] = random.choice(["asking", "answered", "rest", "trouble", "crawl_delay"])
            event[random.randrange(5)] = random.choice(values)
        with suppress(ValueError):
            scene.reports.incoming(task, Done("finished"), {"took_s": 0.0, "events": events})
        assert scene.hosts.ready_at(LANE) >= before
        assert {lane for lane, _, _ in scene.hosts.resting()} <= {LANE}
