"""Pauses grow, have an end, and count those who fail together once."""

from __future__ import annotations

import pytest

from tools.base.backoff import Rest, pause_after


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def failed_again(rest: Rest, clock: Clock) -> float:
    """How long it rests; afterwards that time has passed."""
    pause = rest.begin()
    assert pause is not None and rest.left == pause
    clock.now += pause
    return pause


def test_each_failure_doubles_the_pause_up_to_the_longest() -> None:
    pauses = [pause_after(failures, 1.0, 60.0) for failures in range(1, 9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_any_number_of_failures_has_a_pause() -> None:
    assert pause_after(100_000, 30.0, 3600.0) == 3600.0


def test_pauses_are_spread_to_both_sides_of_what_they_would_be() -> None:
    pauses = [pause_after(2, 10.0, spread=0.5) for _ in range(500)]
    assert all(10 <= pause <= 30 for pause in pauses)
    assert min(pauses) < 13 and max(pauses) > 27
    assert max(pause_after(9, 10.0, 20.0, spread=0.5) for _ in range(100)) == 20


def test_who_has_not_failed_does_not_rest(clock: Clock) -> None:
    assert Rest(30.0, 100.0, clock=clock).left == 0


def test_rests_grow_until_it_answers(clock: Clock) -> None:
    rest = Rest(30.0, 100.0, clock=clock)
    assert [failed_again(rest, clock) for _ in range(4)] == [30, 60, 100, 100]
    rest.succeeded()
    assert failed_again(rest, clock) == 30


def test_failures_under_way_together_are_one(clock: Clock) -> None:
    rest = Rest(30.0, 100.0, clock=clock)
    assert rest.begin()
    clock.now += 10
    assert [rest.begin() for _ in range(5)] == [None] * 5
    assert rest.left == 20
    clock.now += 20
    assert failed_again(rest, clock) == 60


def test_what_is_asked_for_decides_and_never_shortens(clock: Clock) -> None:
    rest = Rest(30.0, 100.0, clock=clock)
    assert (rest.begin(500.0), rest.left) == (500, 500)
    assert (rest.begin(7.0), rest.left) == (None, 500)
    assert (rest.begin(600.0), rest.left) == (None, 600)


def test_a_rest_of_no_time_at_all_was_a_failure_too(clock: Clock) -> None:
    rest = Rest(30.0, 100.0, clock=clock)
    assert (rest.begin(0.0), rest.left) == (0, 0)
    assert failed_again(rest, clock) == 60
