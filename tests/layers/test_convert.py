from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tools.base.text import seconds_of
from tools.layers.convert import as_date, as_json, as_number, as_text
from tools.layers.page import Page
from tools.layers.selector import pattern_of

PAGE = Page("http://h.example/")

NUMBERS: dict[Any, Any] = {
    "12": 12,
    "0012": 12,
    " 12 ": 12,
    "12.50": Decimal("12.50"),
    "12,50": Decimal("12.50"),
    "1,234": 1234,
    "1.234": Decimal("1.234"),
    "1.234.567": 1234567,
    "1,234,567.89": Decimal("1234567.89"),
    "1.234.567,89": Decimal("1234567.89"),
    "1 234 567,8": Decimal("1234567.8"),
    "1\u00a0234": 1234,
    "12'345.60": Decimal("12345.60"),
    "-5": -5,
    "\u22125.5": Decimal("-5.5"),
    "+7": 7,
    "£ 3.20 (was 4)": Decimal("3.20"),
    "about 99 %": 99,
    ".5": Decimal("0.5"),
    "1e3": 1000,
    "1.5E-2": Decimal("0.015"),
    "no": None,
    "": None,
    "v2": None,
    "9" * 5000: None,
    "٣": 3,
    7: 7,
    7.5: 7.5,
    True: None,
    None: None,
}


@pytest.mark.parametrize("said", NUMBERS, ids=lambda said: repr(said)[:20])
def test_numbers(said: Any) -> None:
    value = as_number(said, PAGE)

    assert (value, type(value)) == (NUMBERS[said], type(NUMBERS[said]))


def test_the_mark_of_decimals_may_be_given() -> None:
    assert as_number("1.234", PAGE, ",") == 1234
    assert as_number("1,234", PAGE, ",") == Decimal("1.234")
    assert as_number("1,234", PAGE, ".") == 1234
    assert as_number("12", PAGE, ",") == 12


DATES = {
    ("2026-11-17", None): "2026-11-17",
    ("20261117", None): "2026-11-17",
    ("2026-11-17 05:30", None): "2026-11-17T05:30:00",
    ("2026-11-17T05:30:00Z", None): "2026-11-17T05:30:00+00:00",
    ("Tue, 17 Nov 2026 05:30:00 +0100", None): "2026-11-17T05:30:00+01:00",
    ("17.11.2026", "%d.%m.%Y"): "2026-11-17",
    ("17.11.2026\n 5:30 ", "%d.%m.%Y %H:%M"): "2026-11-17T05:30:00",
    ("31.02.2026", "%d.%m.%Y"): None,
    ("soon", None): None,
    ("", None): None,
    (0, None): "1970-01-01T00:00:00+00:00",
    (1e300, None): None,
    (float("nan"), None): None,
    ("x" * 100_000, None): None,
}


@pytest.mark.parametrize("case", DATES, ids=lambda case: repr(case)[:40])
def test_dates(case: tuple[Any, str | None]) -> None:
    assert as_date(case[0], PAGE, case[1]) == DATES[case]


def test_text_and_json() -> None:
    assert as_text(" a\n\tb ", PAGE) == "a b"
    assert as_text({"a": "ä"}, PAGE) == '{"a": "ä"}'
    assert as_text(None, PAGE) is None
    assert as_json("[" * 100_000, PAGE) is None
    assert as_json('{"a": 1}', PAGE) == {"a": 1}


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("30 min", 1800), ("24 h", 86_400), ("7d", 604_800), (90, 90), ("1.5 hours", 5400), ("0", 0)],
)
def test_durations(said: Any, seconds: float) -> None:
    assert seconds_of(said) == seconds


@pytest.mark.parametrize("said", ["soon", "-1", -1, "5 parsecs", None, True, float("inf"), "1e9"])
def test_what_is_no_duration(said: Any) -> None:
    assert seconds_of(said) is None


@pytest.mark.parametrize("text", ["(a+)+", "(?:a*)*b", "((a+))*", "x(?:(?:\\d+))+$", "(a|(b+)+)c"])
def test_a_repeated_repetition_is_no_pattern(text: str) -> None:
    with pytest.raises(ValueError, match="repeats a repetition"):
        pattern_of(text)


@pytest.mark.parametrize("text", [r"(\d+,)*", r"(?:a{1,3})+", "(a+b)+", r"[\d.]+", "(?i)x+"])
def test_other_repetitions_are(text: str) -> None:
    assert pattern_of(text).pattern == text
