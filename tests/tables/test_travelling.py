"""Values of rows travel to another machine and are the same there."""

from __future__ import annotations

import math
from datetime import UTC, datetime, time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as any_of

from tools.tables.travelling import DEEPEST, packed, unpacked

PLAIN = any_of.one_of(
    *(any_of.none(), any_of.booleans(), any_of.integers(-(10**30), 10**30), any_of.floats()),
    any_of.text(any_of.characters(exclude_categories=())),
    *(any_of.binary(), any_of.decimals(), any_of.dates(), any_of.datetimes(), any_of.times()),
    any_of.datetimes(timezones=any_of.just(UTC)),
)
VALUES = any_of.recursive(
    PLAIN, lambda below: any_of.lists(below) | any_of.dictionaries(any_of.text(), below)
)


def same(one: Any, other: Any) -> bool:
    """Of the same kind, too; what is no number is the same as itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, datetime | time):
        one = one.replace(fold=0)  # no database knows it
    return repr(one) == repr(other)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_every_value_arrives_as_it_was(value: Any) -> None:
    assert same(value, unpacked(orjson.loads(orjson.dumps(packed(value)))))


class Name(str):
    """As libraries have them."""


def test_a_text_of_a_kind_of_its_own_arrives_as_text() -> None:
    assert packed(Name("a")) == "a" and type(packed(Name("a"))) is str


@pytest.mark.parametrize("value", [object(), {1}, [object()], {"a": 1j}])
def test_what_no_column_takes_does_not_travel(value: object) -> None:
    with pytest.raises(TypeError):
        packed(value)


def test_a_nest_that_is_too_deep_does_not_travel_and_is_not_read() -> None:
    value: Any = 1
    said: Any = 1
    for _ in range(DEEPEST + 2):
        value, said = [value], ["list", [said]]
    with pytest.raises(TypeError):
        packed(value)
    with pytest.raises(ValueError, match="no value"):
        unpacked(said)


@pytest.mark.parametrize(
    "said",
    [
        *([], ["x"], ["list"], ["list", 1], ["int", "x"], ["int", "9" * 6000], ["float", "1"]),
        *(["decimal", "x"], ["date", "2026"], ["datetime", 5], ["bytes", "!"], ["text", "/w=="]),
        *({}, {"a": 1}, math.nan, ["dict", [[["list", []], 1]]], ["dict", [1]], ["time", "x"]),
    ],
    ids=str,
)
def test_what_is_no_value_is_refused(said: object) -> None:
    with pytest.raises(ValueError):
        unpacked(said)


def test_moments_keep_their_zone() -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert unpacked(packed(moment)) == moment
