"""What a process has done in the last minute."""

from __future__ import annotations

from tools.cluster.pace import SECONDS, LastMinute


def test_only_the_last_minute_counts() -> None:
    now = 1000.0
    done = LastMinute(lambda: now)
    for _ in range(3 * 60 * 4):  # three minutes, four a second
        done.add()
        now += 0.25
    assert 4 * (SECONDS - 1) <= done.count() <= 4 * SECONDS
    now += 30
    assert 4 * 28 <= done.count() <= 4 * 31
    now += 31
    assert done.count() == 0


def test_in_the_first_minute_it_is_the_pace_that_counts() -> None:
    now = 1000.0
    done = LastMinute(lambda: now)
    assert done.count() == 0
    for _ in range(10):
        done.add()
        now += 1
    assert done.count() == 60
