"""What a setting may be stands beside its field, and is enforced wherever the section stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tools.base.bounds import bounded, check, require
from tools.base.config import build
from tools.base.credentials import with_secrets
from tools.errors import WrongSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Lamp:
    watts: int = bounded(40, least=1, most=1000)
    dimmed: float = bounded(0.5, least=0)
    hours: float | None = bounded(None, above=0)
    colour: str = "white"
    code: str = field(default="", repr=False)

    def with_secrets(self) -> Lamp:
        return build(self, {"colour": f"{self.colour}, secretly"})

    def check(self, where: str) -> None:
        require(self.colour != "infrared", f"{where}colour must be seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    doors: int = bounded(1, least=1)
    lamp: Lamp = field(default_factory=lambda: Lamp(watts=60))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"doors": 0}, "doors must be at least 1"),
        ({"lamp": {"watts": 0}}, "lamp.watts must be at least 1"),
        ({"lamp": {"watts": 1001}}, "lamp.watts must be at most 1,000"),
        ({"lamp": {"dimmed": -1}}, "lamp.dimmed must be 0 or more"),
        ({"lamp": {"colour": "infrared"}}, "lamp.colour must be seen"),
    ],
)
def test_a_wrong_one_is_named_with_its_section(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WrongSetting) as caught:
        check(build(House(), table))
    assert str(caught.value) == sentence
    assert caught.value.name == sentence.partition(" ")[0]


def test_none_is_within_all_bounds_and_a_number_is_not() -> None:
    check(Lamp())
    check(Lamp(hours=1.0))
    with pytest.raises(WrongSetting, match=r"^hours must be more than 0$"):
        check(Lamp(hours=0.0))


def test_no_number_at_all_is_not_within_bounds() -> None:
    with pytest.raises(WrongSetting, match=r"^dimmed must be 0 or more$"):
        check(Lamp(dimmed=float("nan")))


def test_a_section_starts_from_what_the_house_gives_it() -> None:
    assert build(House(), {"lamp": {"colour": "red"}}).lamp == Lamp(watts=60, colour="red")


def test_a_section_adds_its_own_secrets() -> None:
    assert with_secrets(House()).lamp.colour == "white, secretly"
