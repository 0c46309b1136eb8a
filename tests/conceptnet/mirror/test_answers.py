"""What is said again is what was said, and no more of it is kept than there may be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conceptnet.index.test_index import WORLD
from tools.conceptnet.index.build import index_of
from tools.conceptnet.index.index import Index
from tools.conceptnet.mirror.answers import BESIDES, LARGEST, Answers
from tools.conceptnet.mirror.pages import answer_to


class Counting(Index):
    finds = 0

    def find(self, *args: Any, **kwargs: Any) -> Any:
        self.finds += 1
        return super().find(*args, **kwargs)


@pytest.fixture
def index() -> Counting:
    found = Counting.__new__(Counting)
    found.__dict__ |= vars(made := index_of(WORLD))
    found.__dict__["made"] = made  # its caches know it only as long as somebody has it
    return found


def test_what_was_said_is_said_again_without_looking(index: Counting) -> None:
    answers = Answers(index)
    first = answers.to("/c/en/dog", {"limit": "3"})
    assert answers.to("/c/en/dog", {"limit": "3"}) == first
    assert index.finds == 1
    assert first == answer_to(index, "/c/en/dog", {"limit": "3"})


def test_the_order_of_parameters_counts_and_so_does_each_of_them(index: Counting) -> None:
    asked: list[tuple[str, dict[str, str]]] = [
        ("/query", {"start": "/c/en/dog", "rel": "/r/IsA"}),
        ("/query", {"rel": "/r/IsA", "start": "/c/en/dog"}),
        ("/query", {"start": "rel", "/c/en/dog": "/r/IsA"}),
        ("/query", {"start": "/c/en/dog"}),
        ("/c/en/dog", {}),
        ("/c/en/dog", {"limit": "1"}),
        ("/c/en/dog", {"limit": "2"}),
        ("//c/en/dog", {}),
        ("/nope", {}),
    ]
    answers = Answers(index)
    for _ in range(2):
        for path, query in asked:
            assert answers.to(path, query) == answer_to(index, path, query)


def test_the_oldest_make_room(index: Counting) -> None:
    answers = Answers(index, most_bytes=3 * (BESIDES + 1_000))
    for number in range(100):
        answers.to(f"/c/en/nothing_{number}", {})
    assert 0 < len(answers._kept) <= 3 * 2
    assert answers._left >= 0
    finds = index.finds
    answers.to("/c/en/nothing_99", {})
    assert index.finds == finds
    answers.to("/c/en/nothing_0", {})
    assert index.finds == finds + 1


def test_what_is_large_is_not_kept(index: Counting) -> None:
    answers = Answers(index)
    answers.to("/c/en/" + "x" * LARGEST, {})
    answers.to("/query", {"start": "x" * LARGEST})
    assert not answers._kept


def test_who_keeps_nothing_looks_each_time(index: Counting) -> None:
    answers = Answers(index, most_bytes=0)
    for _ in range(2):
        answers.to("/c/en/dog", {})
    assert index.finds == 2
