"""How fast, and how long still: pure functions on samples of harvests whose end is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

import pytest

from tests.support.state_file import TALLY, minutes
from tools.journal.sample import Sample
from tools.reports import rates
from tools.reports.forecast import Left, Range, left
from tools.reports.rates import Course, course

Speed = Callable[[Random], Iterator[float]]


def test_runs_are_joined_by_the_time_they_worked() -> None:
    seen = Course([*minutes(3), *minutes(4, run=2, begun=2e9)])
    assert seen.worked == [0, 60, 120, 120, 180, 240, 300]
    assert seen.restarts == [3]
    assert seen.seconds == 300 and seen.run_seconds() == 180


def test_a_value_lies_between_its_neighbours() -> None:
    seen = Course(minutes(3))
    moments = {0: 0.0, 30: 5.0, 60: 10.0, 119: 10 * 119 / 60, -50: 0.0, 500: 20.0}
    for moment, value in moments.items():
        assert seen.at(moment, rates.done("fetch")) == pytest.approx(value)


def test_rates_of_a_steady_run() -> None:
    seen = Course(minutes(121))
    for span in (60.0, 3600.0, None):
        assert seen.rate(rates.done("fetch"), span) == pytest.approx(10 / 60)
        assert seen.rate(rates.count_of("media "), span) == pytest.approx(4 / 60)
        assert seen.rate(rates.requests, span) == pytest.approx(20 / 60)


@pytest.mark.parametrize("number", [0, 1])
def test_too_few_samples_tell_no_rate(number: int) -> None:
    seen = Course(minutes(number))
    assert [seen.rate(rates.requests, span) for span in (60.0, None)] == [None, None]


def test_a_young_run_has_no_last_hour_but_the_runs_before_it_count() -> None:
    young = Course(minutes(20))
    assert (
        young.rate(rates.count_of("media "), 3600.0) is None
        and young.rate(rates.count_of("media "), None) is not None
    )
    joined = Course([*minutes(60), *minutes(20, run=2)])
    assert joined.rate(rates.count_of("media "), 3600.0) is not None


def test_a_run_that_was_reset_has_no_negative_rate() -> None:
    assert Course([*minutes(60), *minutes(2, run=2)]).rate(rates.requests, 600.0) == 0.0


# --- the moment a look is taken ------------------------------------------------------------


def live(now: float, since: float | None = 1e9) -> Course:
    counts = TALLY | {"done_fetch": 95}
    return course(minutes(10), counts, since, now)


def test_a_running_harvest_is_seen_as_it_is_now() -> None:
    seen = live(now=1e9 + 540 + 30)
    assert seen.worked[-1] == 570 and seen.known == 10 and seen.since_known == 30
    assert seen.rate(rates.done("fetch"), 30.0) == pytest.approx(5 / 30)


def test_what_only_samples_know_is_not_diluted() -> None:
    seen = live(now=1e9 + 540 + 59)
    assert seen.rate(rates.requests, 60.0, is_known=True) == pytest.approx(20 / 60)


@pytest.mark.parametrize(
    ("now", "since"),
    [
        (1e9 + 570, None),  # it does not run
        (1e9 + 500, 1e9),  # the clock went back
        (1e9 + 540 + 3600, 1e9),  # the clock went forward, or nobody takes samples
        (1e9 + 570, 1e9 + 560),  # the samples are of the run before
    ],
)
def test_else_it_is_seen_as_the_last_sample_says(now: float, since: float | None) -> None:
    seen = live(now, since)
    assert seen.worked[-1] == 540 and seen.since_known == 0


# --- how long still ------------------------------------------------------------------------


def told(samples: list[Sample], limit: int | None = None) -> Left:
    last = samples[-1].counts
    pools = {name: n for name, n in last.items() if not name.startswith(("done_", "media "))}
    return left(Course(samples), pools, limit)


def test_a_steady_harvest_ends_when_it_must() -> None:
    time = told(minutes(61)).time  # 400 wait, 10 a minute
    assert time is not None and time.low < 2400 < time.high
    assert time.likely == pytest.approx(2400, rel=0.01) and time.width < 1.5


def test_a_limit_ends_it_before() -> None:
    samples = minutes(61, waiting=100_000)
    time = told(samples, limit=700).time
    assert time is not None and time.likely == pytest.approx(600, rel=0.01)
    assert told(samples, limit=600).time == Range(0, 0, 0)


def test_nothing_waits_nothing_is_left() -> None:
    assert told(minutes(30, waiting=0)).time == Range(0, 0, 0)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (minutes(4), "before it has worked for 5 min"),
        (minutes(1), "before it has worked for 5 min"),
        ([], "before it has worked for 5 min"),
    ],
)
def test_a_young_harvest_is_not_judged(samples: list[Sample], why: str) -> None:
    seen = left(Course(samples), {"to_fetch": 9, "on_fetch": 0})
    assert seen.time is None and why in seen.why


def test_a_harvest_that_stands_still_is_known_so() -> None:
    stuck = [each._replace(counts=minutes(1)[0].counts) for each in minutes(40)]
    assert "nothing was done in the last 39 min" in told(stuck).why
    later = [each._replace(elapsed=each.elapsed + 60 * 60) for each in stuck[:20]]
    waits = [each._replace(counts=minutes(61)[-1].counts) for each in later]
    assert "nothing was done in the last 19 min" in told([*minutes(61)[:-1], *waits]).why


def test_a_stage_nobody_works_at_is_named() -> None:
    samples = [
        each._replace(counts={**each.counts, "to_extend": 50}) for each in minutes(61, waiting=700)
    ]
    seen = told(samples)
    assert seen.time is None and "nothing of to_extend was done" in seen.why


def test_more_found_than_done_has_no_end_but_a_least_time() -> None:
    samples = [
        each._replace(counts={**each.counts, "to_fetch": 100 + 30 * at})
        for at, each in enumerate(minutes(61))
    ]
    seen = told(samples)
    assert seen.time is None and "more is found than done" in seen.why
    assert 60 * (1900 / 10) / 1.2 < seen.least <= 60 * 1900 / 10


# --- is the true time in the range? ----------------------------------------------------------


def steady(random: Random) -> Iterator[float]:
    speed = random.uniform(50, 500)
    while True:
        yield speed


def bursty(random: Random) -> Iterator[float]:
    speed, is_quick = random.uniform(100, 500), True
    while True:
        slow = speed * random.uniform(0, 0.2)
        for _ in range(1 + int(random.expovariate(1 / random.choice([3, 8])))):
            yield speed if is_quick else slow
        is_quick = not is_quick


def drifting(random: Random) -> Iterator[float]:
    speed, drift = random.uniform(100, 500), 0.0
    while True:
        drift = 0.97 * drift + random.gauss(0, 0.06)
        yield speed * math.exp(drift)


def around(random: Random, mean: float) -> int:
    return max(0, round(random.gauss(mean, math.sqrt(mean))))


class World:
    """A harvest minute by minute until nothing waits.

    `finds`: how many neighbours a concept has, of which fewer and fewer are new. `tasks`: how many
    tasks of the second stage come of one of the first.
    """

    def __init__(self, random: Random, speed: Speed, finds: float, tasks: float) -> None:
        self.random, self.finds, self.tasks = random, finds, tasks
        self.fetching, self.extending = speed(random), speed(random)
        self.size = round(next(self.fetching) * random.uniform(40, 900))
        self.known = self.to_fetch = 10 if finds else self.size
        self.power = tasks * random.uniform(0.4, 2)
        self.to_extend = self.fetched = self.extended = 0

    def samples(self) -> list[Sample]:
        found = [self.sample(0)]
        while self.to_fetch or self.to_extend:
            self.live_a_minute()
            found.append(self.sample(len(found)))
        return found

    def live_a_minute(self) -> None:
        done = min(self.to_fetch, around(self.random, next(self.fetching)))
        hope = done * self.finds * (1 - self.known / self.size)
        new = min(self.size - self.known, around(self.random, hope))
        self.known += new
        self.to_fetch += new - done
        self.fetched += done
        self.to_extend += round(done * self.tasks)
        more = min(self.to_extend, around(self.random, next(self.extending) * self.power))
        self.to_extend -= more
        self.extended += more

    def sample(self, minute: int) -> Sample:
        counts = {
            **{"to_fetch": self.to_fetch, "on_fetch": 0},
            **{"to_extend": self.to_extend, "on_extend": 0},
            **{"done_fetch": self.fetched, "done_extend": self.extended},
        }
        return Sample(1, 60.0 * minute, 60.0 * minute, counts, 0, 0)


@pytest.mark.parametrize(
    ("speed", "finds", "tasks", "is_often_told"),
    [
        (steady, False, 0.0, True),
        (bursty, False, 0.0, True),
        (drifting, False, 0.0, True),
        (steady, True, 0.0, True),  # a frontier that grows, then shrinks
        (bursty, True, 0.0, False),
        (steady, False, 1.5, True),
        (bursty, False, 1.5, True),
        (drifting, True, 1.5, True),
    ],
)
def test_the_true_time_is_in_the_range_four_times_of_five(
    speed: Speed, finds: bool, tasks: float, is_often_told: bool
) -> None:
    random, inside, ranges, trials = Random(7), 0, 0, 60
    for _ in range(trials):
        world = World(random, speed, random.uniform(2, 15) if finds else 0.0, tasks)
        samples = world.samples()
        at = random.randrange(6, len(samples) - 1)
        true = samples[-1].elapsed - samples[at].elapsed
        if (time := told(samples[: at + 1]).time) is not None:
            ranges += 1
            inside += time.low - 60 <= true <= time.high + 60  # a sample is a minute
            assert 0 <= time.low <= time.likely <= time.high < math.inf
    assert ranges > (0.6 if is_often_told else 0.3) * trials
    assert inside >= 0.8 * ranges, (inside, ranges)
