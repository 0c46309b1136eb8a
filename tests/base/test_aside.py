"""An answer for which nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tools.base import seldom
from tools.base.seldom import Answer, Aside
from tools.errors import Unavailable

PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the first one waits."""
    monkeypatch.setattr(seldom, "FIRST_S", 0.0)


class Slow:
    """Answers when it is told to, with how often it was asked; or fails."""

    def __init__(self) -> None:
        self.asked = 0
        self.failure: BaseException | None = None
        self._may_answer = threading.Semaphore(0)

    def __call__(self) -> int:
        self.asked += 1
        assert self._may_answer.acquire(timeout=PATIENCE_S)
        if self.failure is not None:
            raise self.failure
        return self.asked

    def answer(self, aside: Aside[int]) -> None:
        """And be ready for the next question."""
        self._may_answer.release()
        assert aside._asking.acquire(timeout=PATIENCE_S)
        aside._asking.release()


@pytest.fixture
def slow() -> Iterator[Slow]:
    yield (found := Slow())
    found._may_answer.release()  # whatever still asks


def test_nobody_waits_for_the_first_answer_nor_for_the_next(slow: Slow) -> None:
    aside = Aside(slow)
    assert (aside.known(), aside.known(), slow.asked) == (None, None, 1)
    slow.answer(aside)
    aside._due = 1e18
    assert value_of(aside) == 1
    aside._due = 0.1
    assert (value_of(aside), value_of(aside)) == (1, 1)  # though it is being asked
    slow.answer(aside)
    aside._due = 1e18
    assert (value_of(aside), slow.asked) == (2, 2)


def test_what_was_wrong_is_raised_until_there_is_an_answer(slow: Slow) -> None:
    aside = Aside(slow, 3600.0)
    aside.known()
    slow.failure = Unavailable("it is silent")
    slow.answer(aside)
    for _ in range(2):  # and not asked again each time
        with pytest.raises(Unavailable, match="it is silent"):
            aside.known()
    assert (aside.last, slow.asked) == (None, 1)
    slow.failure, aside._due = None, 0.1
    with pytest.raises(Unavailable):
        aside.known()
    slow.answer(aside)
    assert value_of(aside) == 2


def test_a_mistake_of_ours_leaves_the_last_answer(
    slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    aside = Aside(slow, 3600.0)
    aside.known()
    slow.answer(aside)
    slow.failure, aside._due = ZeroDivisionError("oh"), 0.1
    aside.known()
    slow.answer(aside)
    assert value_of(aside) == 1 and "ZeroDivisionError" in caplog.text


def test_the_end_of_the_process_waits_for_no_answer(slow: Slow) -> None:
    before = set(threading.enumerate())
    Aside(slow).known()
    assert [each.daemon for each in set(threading.enumerate()) - before] == [True]


def test_whoever_asks_first_waits_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seldom, "FIRST_S", PATIENCE_S)
    assert value_of(Aside(lambda: sum(range(1_000_000)))) == 499_999_500_000


def test_only_what_is_old_says_when_it_was() -> None:
    assert (Answer(1, 100.0).as_of(105.0), Answer(1, 100.0).as_of(160.0)) == (None, 100.0)


def value_of(aside: Aside[int]) -> int:
    found = aside.known()
    assert found is not None
    return found.value
