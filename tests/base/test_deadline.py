"""A deadline for work that has none of its own."""

from __future__ import annotations

from threading import Event

import pytest

from tools.base.deadline import within


def test_what_the_work_gives_or_raises_is_had() -> None:
    known = {"it": 7}
    assert within(10, lambda: known["it"]) == 7
    with pytest.raises(KeyError, match="nothing"):
        within(10, lambda: known["nothing"])


def test_nobody_waits_for_longer_and_the_work_ends_aside() -> None:
    goes_on, has_ended = Event(), Event()

    def work() -> None:
        goes_on.wait(10)
        has_ended.set()

    with pytest.raises(TimeoutError):
        within(0.01, work)
    goes_on.set()
    assert has_ended.wait(10)
