"""The filter's settings: relations and languages as a person writes them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.support.toml import loaded, refusal
from tools.conceptnet.rules import ALL_RELATIONS, RELATIONS
from tools.errors import UsageError
from tools.settings import Settings, narrowed

pytestmark = pytest.mark.usefixtures("no_settings")

GUIDE = Path(__file__).parents[2] / "docs" / "dump.md"
LISTED = "docs/dump.md lists them all"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Isa", "did you mean IsA?"), ("UsedFr", "did you mean UsedFor?"), ("zzz", LISTED)],
)
def test_unknown_relations_are_refused(name: str, hint: str) -> None:
    sentence = refusal(f'[filter]\nrelations = ["IsA", "{name}"]')
    assert sentence == f"unknown relation {name}; {hint}"


def test_all_relations_are_listed_where_a_user_is_sent() -> None:
    listed = GUIDE.read_text(encoding="utf-8")
    assert set(ALL_RELATIONS) <= set(re.findall(r"\w+", listed))


@pytest.mark.parametrize("given", ["isa", "ISA", "/r/IsA", "IsA"])
def test_a_flag_names_relations_in_any_case(given: str) -> None:
    assert narrowed(Settings(), relations=(given,)).filter.relations == ("IsA",)
    assert "relatedto" not in RELATIONS
    wider = narrowed(Settings(), plus=("relatedto",), minus=(given,)).filter.relations
    assert wider == (*RELATIONS[1:], "RelatedTo")


@pytest.mark.parametrize(
    ("given", "hint"), [("isaa", "did you mean IsA?"), ("used_for", "did you mean UsedFor?")]
)
def test_a_flag_that_names_no_relation_gets_the_nearest(given: str, hint: str) -> None:
    for flag in ("relations", "plus", "minus"):
        with pytest.raises(UsageError, match=re.escape(f"unknown relation {given}; {hint}")):
            narrowed(Settings(), **{flag: (given,)})  # type: ignore[arg-type]


def test_a_flag_that_names_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="relations must name at least one relation"):
        narrowed(Settings(), relations=())
    with pytest.raises(UsageError, match="languages must name at least one language"):
        narrowed(Settings(), languages=())


def test_languages_may_be_typed_in_capitals() -> None:
    assert narrowed(Settings(), languages=("EN", "De")).filter.languages == ("en", "de")


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf])
def test_a_weight_given_as_a_flag_is_a_number(weight: float) -> None:
    with pytest.raises(UsageError, match=r"^filter.min_weight must be a number, not "):
        narrowed(loaded(""), min_weight=weight)
