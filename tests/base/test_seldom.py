"""An answer that many threads want."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools.base.seldom import Seldom

PATIENCE_S = 30.0


def test_the_first_answer_is_asked_for_once() -> None:
    asked, may_answer = list[int](), threading.Event()

    def slow() -> int:
        asked.append(1)
        assert may_answer.wait(PATIENCE_S)
        return len(asked)

    seldom = Seldom(slow, 3600.0)
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(seldom) for _ in range(8)]
        may_answer.set()
        assert [each.result(PATIENCE_S) for each in answers] == [1] * 8


def test_while_one_asks_anew_the_others_have_the_last_answer() -> None:
    asked, is_asking, may_answer = list[int](), threading.Event(), threading.Event()

    def slow() -> int:
        asked.append(1)
        if len(asked) == 2:
            is_asking.set()
            assert may_answer.wait(PATIENCE_S)
        return len(asked)

    seldom = Seldom(slow)
    seldom._due, first = 0.0, seldom()
    seldom._due = 0.0
    with ThreadPoolExecutor(1) as threads:
        anew = threads.submit(seldom)
        assert is_asking.wait(PATIENCE_S)
        assert (first, seldom(), seldom()) == (1, 1, 1)  # though it is due
        may_answer.set()
        assert anew.result(PATIENCE_S) == 2
    assert len(asked) == 2


def test_a_question_that_failed_is_asked_again() -> None:
    answers = iter([OSError("no"), None])

    def ask() -> str:
        if error := next(answers):
            raise error
        return "yes"

    seldom = Seldom(ask)
    with pytest.raises(OSError, match="no"):
        seldom()
    assert seldom() == "yes"
