"""How far it is, written down often enough and not too often."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from tools.assist.sampler import POINTS, Sampler
from tools.engine.pools import Pools
from tools.journal.reader import all_samples, look


class Hours:
    """A clock that goes when it is told, and a harvest that makes ten requests a second."""

    def __init__(self, file: Path) -> None:
        self.now = 1000.0
        self.file = file
        self.pools = Pools(file, [])
        self.begin()

    def begin(self) -> None:
        self.requests = self._told = 0
        self.sampler = Sampler(self.pools, self.traffic, lambda: self.now)

    def traffic(self) -> dict[str, tuple[int, int]]:
        new, self._told = self.requests - self._told, self.requests
        return {"example.org": (new, 100 * new)}

    def go(self, seconds: int, step: float = 1.0) -> None:
        for at in range(int(seconds / step)):
            self.now += step
            self.requests += round(10 * step)
            self.sampler.refresh()
            if at % int(60 / step) == 0:
                self.sampler.keep()  # as the clock does


@pytest.fixture
def hours(tmp_path: Path) -> Iterator[Hours]:
    hours = Hours(tmp_path / "pools.db")
    with closing(hours.pools):
        yield hours


def gaps(file: Path) -> list[float]:
    moments = [each.elapsed for each in all_samples(file)]
    return [later - sooner for sooner, later in pairwise(moments)]


def test_a_short_run_has_a_sample_a_second(hours: Hours) -> None:
    hours.go(40, step=0.25)
    assert len(all_samples(hours.file)) >= 38
    assert max(gaps(hours.file)) <= 1.25


def test_the_traffic_is_never_more_than_seconds_old(hours: Hours) -> None:
    hours.go(3 * 3600, step=60.0)
    for seconds in (7, 23, 41, 57):
        hours.go(seconds)
        requests, _ = look(hours.file).assist.hosts["example.org"]
        assert hours.requests - requests <= 10 * 5
        assert all_samples(hours.file)[-1].requests == requests


def test_a_long_run_has_a_sample_a_minute_and_few_in_all(hours: Hours) -> None:
    hours.go(2 * 3600, step=3.0)
    assert len(all_samples(hours.file)) < POINTS * 5
    assert max(gaps(hours.file)) <= 60 + 5


def test_many_short_runs_of_a_long_harvest_leave_few_samples(hours: Hours) -> None:
    hours.go(5 * 3600, step=60.0)
    before = len(all_samples(hours.file))
    for _ in range(10):
        hours.begin()
        hours.go(45)
    assert len(all_samples(hours.file)) <= before + 10 * 3
    seen = look(hours.file).assist
    assert seen.runs == 11 and seen.worked == pytest.approx(5 * 3600 + 450, abs=60)


def test_old_samples_are_thinned_out_however_long_it_runs(hours: Hours) -> None:
    hours.go(6 * 3600, step=60.0)
    with closing(sqlite3.connect(hours.file)) as db, db:
        db.execute("UPDATE sample SET time = 1")
    hours.go(120)
    assert len(all_samples(hours.file)) < 6 * 3600 / 60 / 5
