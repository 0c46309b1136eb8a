"""Of large answers only few are in memory at a time."""

from __future__ import annotations

import pytest

from tools.errors import ComeBack
from tools.network.large_answers import Turn

pytestmark = pytest.mark.timeout(30)


def test_whoever_finds_no_place_comes_back() -> None:
    with Turn() as first, Turn() as second, Turn() as third:
        first.take(1)
        second.take(1)
        with pytest.raises(ComeBack, match="other large answers come first"):
            third.take(0.01)
        with first:
            pass
        third.take(1)


def test_a_task_has_one_place_for_all_its_answers() -> None:
    with Turn() as turn, Turn() as other:
        other.take(1)
        turn.take(1)
        turn.take(0.01)
    with Turn() as first, Turn() as second:
        first.take(0.01)
        second.take(0.01)


def test_who_has_no_large_answer_takes_no_place() -> None:
    with Turn(), Turn(), Turn() as last:
        last.take(0.01)
