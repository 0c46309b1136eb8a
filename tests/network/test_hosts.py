"""Hosts are asked no sooner than they may be, rest when they fail, and are forgotten when idle."""

from __future__ import annotations

import random
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools.network.hosts import FEW, Hosts

pytestmark = pytest.mark.timeout(60)

MINUTE = 60.0


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> Hosts:
    return Hosts(1.0, 2.0, 1, 30.0, clock)


def visit(hosts: Hosts, lane: str, seconds: float = 0.0) -> None:
    hosts.begun(lane)
    hosts.ended(lane, seconds)


def fail(hosts: Hosts, *lanes: str) -> list[bool]:
    return [hosts.trouble(lane) for lane in lanes]


def test_those_who_look_on_are_told_how_many_do_what(clock: Clock) -> None:
    hosts = Hosts(5.0, 0.0, 1, 30.0, clock)
    visit(hosts, "waits")
    hosts.begun("busy")
    for lane in ("rests", "rests and waits"):
        hosts.rest(lane, 60.0, "HTTP 429")
    visit(hosts, "rests and waits")
    assert hosts.states() == {"busy": 1, "waiting": 1, "resting": 2}
    clock.now += MINUTE + 1
    assert hosts.states() == {"busy": 1, "waiting": 0, "resting": 0}


# ---- turns


def test_who_was_never_asked_is_ready(hosts: Hosts) -> None:
    assert (hosts.ready_at("a"), hosts.places("a"), hosts.silent_for("a")) == (0.0, 1, 0.0)
    assert len(hosts) == 0


def test_a_host_has_so_many_places(clock: Clock) -> None:
    """However many are taken: whoever hands out counts those."""
    hosts = Hosts(1.0, 0.0, 2, 30.0, clock)
    hosts.begun("a")
    assert (hosts.places("a"), hosts.places("b")) == (2, 2)
    hosts.ended("a", 0.1)
    assert hosts.places("a") == 2


@pytest.mark.parametrize(
    "took, asked, gap", [(0.1, None, 1.0), (3.0, None, 9.0), (0.1, 5.0, 5.0), (9.0, 5.0, 27.0)]
)
def test_the_longest_of_three_gaps_counts(
    hosts: Hosts, clock: Clock, took: float, asked: float | None, gap: float
) -> None:
    """From the beginning of a request, and what its slowness asks for from its end."""
    begun = clock.now
    hosts.begun("a")
    if asked is not None:
        hosts.crawl_delay("a", asked)  # it is read meanwhile
    clock.now += took
    hosts.ended("a", took)
    assert hosts.ready_at("a") == begun + gap
    assert hosts.ready_at("b") == 0.0


def test_a_host_has_one_place_until_it_is_known_what_it_allows(clock: Clock) -> None:
    hosts = Hosts(1.0, 0.0, 2, 30.0, clock, asks_first=True)
    assert hosts.places("a") == 1
    hosts.begun("a")
    assert hosts.places("a") == 1
    hosts.let_in("a")
    assert (hosts.places("a"), hosts.places("b")) == (2, 1)


def test_requests_at_the_same_time_begin_one_after_the_other(clock: Clock) -> None:
    hosts = Hosts(1.0, 0.0, 2, 30.0, clock)
    hosts.begun("a")
    assert hosts.ready_at("a") == 1001.0
    clock.now = 1001.0
    hosts.begun("a")
    clock.now = 1001.5
    hosts.ended("a", 1.5)
    assert hosts.ready_at("a") == 1002.0


def test_who_begins_late_is_followed_late(hosts: Hosts, clock: Clock) -> None:
    """A task may wait for its worker, or send several requests."""
    hosts.begun("a")
    clock.now += 0.7
    hosts.asking("a")
    clock.now += 0.1
    hosts.ended("a", 0.1)
    assert hosts.ready_at("a") == 1001.7


def test_a_crawl_delay_has_a_cap_and_can_be_taken_back(hosts: Hosts, clock: Clock) -> None:
    hosts.crawl_delay("a", 86_400.0)
    visit(hosts, "a")
    assert hosts.ready_at("a") == clock.now + 30.0
    hosts.crawl_delay("a", 0.0)
    visit(hosts, "a")
    assert hosts.ready_at("a") == clock.now + 1.0


def test_more_ends_than_beginnings_make_no_places(hosts: Hosts) -> None:
    for _ in range(3):
        hosts.ended("a", 0.0)
    assert hosts.places("a") == 1


# ---- rests


def test_who_fails_three_times_rests_ever_longer(hosts: Hosts, clock: Clock) -> None:
    assert fail(hosts, "a", "a") == [False, False]
    assert hosts.resting() == []
    for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
        assert fail(hosts, "a") == [True]
        assert hosts.ready_at("a") == clock.now + minutes * MINUTE
        clock.now += minutes * MINUTE
    hosts.answered("a")
    assert fail(hosts, "a", "a", "a") == [False, False, True]
    assert hosts.ready_at("a") == clock.now + MINUTE


def test_those_under_way_together_fail_together(hosts: Hosts, clock: Clock) -> None:
    assert fail(hosts, *"aaaaaa") == [False, False, True, True, True, True]
    assert hosts.ready_at("a") == clock.now + MINUTE


def test_an_answer_between_makes_failures_count_anew(hosts: Hosts) -> None:
    for _ in range(5):
        assert fail(hosts, "a", "a") == [False, False]
        hosts.answered("a")
    assert hosts.resting() == []


def test_a_host_rests_as_long_as_it_asks_but_an_hour(hosts: Hosts, clock: Clock) -> None:
    assert hosts.rest("a", 7.0, "HTTP 429") == 7.0
    assert hosts.rest("b", 10**6, "HTTP 503") == 3600.0
    assert hosts.rest("c", None, "HTTP 429") == MINUTE
    assert hosts.rest("d", -5.0, "HTTP 429") == 0.0
    assert hosts.resting() == [
        ("a", clock.now + 7, "HTTP 429"),
        ("c", clock.now + MINUTE, "HTTP 429"),
        ("b", clock.now + 3600, "HTTP 503"),
    ]
    clock.now += MINUTE
    assert hosts.rest("c", None, "HTTP 429") == 2 * MINUTE
    assert [lane for lane, _, _ in hosts.resting()] == ["c", "b"]


def test_a_rest_is_not_shortened_by_a_turn_that_ends(hosts: Hosts, clock: Clock) -> None:
    hosts.begun("a")
    hosts.rest("a", 100.0, "HTTP 429")
    hosts.ended("a", 0.1)
    assert hosts.ready_at("a") == clock.now + 100


def test_silence_counts_from_the_first_failure(hosts: Hosts, clock: Clock) -> None:
    fail(hosts, "a")
    clock.now += 5000
    fail(hosts, "a")
    hosts.rest("b", 10.0, "robots.txt could not be had")
    clock.now += 11
    assert (hosts.silent_for("a"), hosts.silent_for("b")) == (5011.0, 11.0)
    hosts.answered("a")
    assert hosts.silent_for("a") == 0.0


# ---- our own line


def test_if_everybody_fails_it_is_our_own_line(hosts: Hosts) -> None:
    fail(hosts, *"abcabcabc")
    assert not hosts.is_own_line()
    fail(hosts, "a")
    assert hosts.is_own_line()
    hosts.answered("b")
    assert not hosts.is_own_line()


def test_two_hosts_are_too_few_to_blame_our_line(hosts: Hosts) -> None:
    fail(hosts, *"ab" * 20)
    assert not hosts.is_own_line()


def test_no_host_is_blamed_for_our_own_line(hosts: Hosts, clock: Clock) -> None:
    fail(hosts, *(f"host{number}" for number in range(10)))
    assert hosts.is_own_line()
    clock.now += 86_400
    assert fail(hosts, *["late"] * 5) == [False] * 5
    assert (hosts.ready_at("late"), hosts.silent_for("late")) == (0.0, 0.0)


# ---- very many


def test_very_many_hosts_leave_little_behind(hosts: Hosts, clock: Clock) -> None:
    fail(hosts, "bad", "bad", "bad")
    hosts.crawl_delay("slow", 20.0)
    hosts.begun("busy")
    tracemalloc.start()
    try:
        for number in range(40_000):
            visit(hosts, f"host{number}.example")
            clock.now += 0.01
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert len(hosts) <= 2 * FEW
    assert hosts.silent_for("bad") > 0
    assert not hosts._hosts["busy"].is_idle(clock.now), "it is at work"
    visit(hosts, "slow")
    assert hosts.ready_at("slow") == clock.now + 20.0


def test_nobody_is_forgotten_before_his_time(hosts: Hosts, clock: Clock) -> None:
    for number in range(3 * FEW):
        visit(hosts, f"host{number}")
    assert len(hosts) == 3 * FEW
    assert hosts.ready_at("host0") == clock.now + 1.0


def test_a_rest_that_is_forgotten_is_over(hosts: Hosts, clock: Clock) -> None:
    hosts.rest("a", 5.0, "HTTP 429")
    clock.now += 6
    hosts.answered("a")
    for number in range(3 * FEW):
        visit(hosts, f"host{number}")
        clock.now += 1
    assert hosts.resting() == []


def test_a_call_costs_next_to_nothing(hosts: Hosts) -> None:
    """Far below what is promised, so that a busy machine does not matter."""
    lanes = [f"host{number}" for number in range(1000)]
    best = min(_seconds_of_a_round(hosts, lanes) for _ in range(5))
    assert best / len(lanes) / 5 < 3e-6


def _seconds_of_a_round(hosts: Hosts, lanes: list[str]) -> float:
    begun = time.thread_time()
    for lane in lanes:
        hosts.ready_at(lane)
        hosts.places(lane)
        hosts.begun(lane)
        hosts.answered(lane)
        hosts.ended(lane, 0.1)
    return time.thread_time() - begun


def test_threads_share_it() -> None:
    hosts = Hosts(0.0, 0.0, 1000, 30.0)
    lanes = [f"host{number}" for number in range(50)]

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(2000):
            lane = chance.choice(lanes)
            hosts.begun(lane)
            if chance.random() < 0.5:
                hosts.answered(lane)
            else:
                hosts.trouble(lane)
            hosts.resting()
            hosts.ended(lane, 0.0)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert {hosts.places(lane) for lane in lanes} == {1000}
