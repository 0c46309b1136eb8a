"""Types of columns, and which values fit them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools.tables.datatype import KINDS, LONGEST_TEXT, datatype
from tools.tables.fitting import Misfit, fitted_column


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("varchar(20)", "VARCHAR(20)"),
        (" CHAR ( 3 ) ", "VARCHAR(3)"),
        ("LONGTEXT", "TEXT"),
        ("int(11)", "INTEGER"),
        ("tinyint", "INTEGER"),
        ("Double  Precision", "DOUBLE"),
        ("FLOAT(7,4)", "DOUBLE"),
        ("NUMERIC", "DECIMAL(38,10)"),
        ("DECIMAL(5)", "DECIMAL(5,0)"),
        ("TIMESTAMP", "DATETIME"),
        ("bool", "BOOLEAN"),
        ("int(10) Unsigned", "INTEGER UNSIGNED"),
        ("decimal(4,2) unsigned ", "DECIMAL(4,2) UNSIGNED"),
    ],
)
def test_types_are_read(text: str, meant: str) -> None:
    assert str(datatype(text)) == meant
    assert str(datatype(meant)) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("VARCHR(20)", "'VARCHR(20)' is no type; did you mean 'VARCHAR(20)'?"),
        ("Intger", "'Intger' is no type; did you mean 'INTEGER'?"),
        ("zzz", "'zzz' is no type"),
        ("", "'' is no type"),
        ("INT; DROP TABLE x", "'INT; DROP TABLE x' is no type"),
        ("VARCHAR", "'VARCHAR' needs a length, such as VARCHAR(100); or write TEXT"),
        ("VARCHAR(0)", "'VARCHAR(0)' needs a length"),
        ("VARCHAR(20000)", "'VARCHAR(20000)' is longer than 16,383: write TEXT"),
        ("DECIMAL(70,2)", "must have 1 to 65 digits"),
        ("DECIMAL(3,5)", "must have 1 to 65 digits"),
        ("DATE UNSIGNED", "'DATE UNSIGNED': only numbers are UNSIGNED"),
        ("INT UNSIGNED UNSIGNED", "'INT UNSIGNED' is no type"),
        ("UNSIGNED", "'UNSIGNED' is no type"),
        ("DATE(3)", "'DATE(3)' has more numbers than a type of this name: write DATE"),
    ],
)
def test_what_is_no_type_is_said_so(text: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        datatype(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("INT", "24", 24),
        ("INT", " 1,234 ", 1234),
        ("INT", 7.0, 7),
        ("INT", True, 1),
        ("INT", "\uff12\uff14", 24),
        ("INT", "", None),
        ("BIGINT", str(2**63 - 1), 2**63 - 1),
        ("DECIMAL(10,2)", "1,234.505", "1234.51"),
        ("DECIMAL(10,2)", 0.125, "0.13"),
        ("DECIMAL(10,2)", Decimal("-3"), "-3.00"),
        ("DECIMAL(2,2)", "0.99", "0.99"),
        ("DECIMAL(10,2)", "1e-999999", "0.00"),
        ("DOUBLE", "1e3", 1000.0),
        ("DATE", "2013年12月18日", "2013-12-18"),
        ("DATE", "2013/2/8", "2013-02-08"),
        ("DATE", dt.datetime(2013, 2, 8, 23, 0), "2013-02-08"),
        ("DATE", "2013-02-08T23:59:00-09:00", "2013-02-08"),
        ("DATETIME", "2013-02-08T23:00:00+08:00", "2013-02-08 15:00:00"),
        ("DATETIME", dt.date(2013, 2, 8), "2013-02-08 00:00:00"),
        ("TIME", "10:30", "10:30:00"),
        ("BOOLEAN", "Yes", True),
        ("BOOLEAN", 0, False),
        ("TEXT", ["茶", 1, None], '["茶", 1, null]'),
        ("TEXT", True, "true"),
        ("TEXT", 1.5, "1.5"),
        ("TEXT", dt.date(2013, 2, 8), "2013-02-08"),
        ("TEXT", "a\0\ud800", "a\ufffd"),
        ("VARCHAR(3)", "茶茶茶", "茶茶茶"),
        ("JSON", {"a": "茶"}, '{"a": "茶"}'),
        ("JSON", '{"a":1}', '{"a":1}'),
        ("JSON", "NaN", '"NaN"'),
        ("BLOB", "茶", "茶".encode()),
    ],
)
def test_what_fits_is_stored(kind: str, value: Any, stored: Any) -> None:
    found = datatype(kind).fitted(value)
    assert (found, type(found)) == (stored, type(stored))


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("INT", "24人", "'24人' is no whole number"),
        ("INT", 2.5, "2.5 is no whole number"),
        ("INT", "1_000", "'1_000' is no whole number"),
        ("INT", 2**31, "too large for INTEGER"),
        ("BIGINT", "9" * 5000, "too large for BIGINT"),
        ("DECIMAL(4,2)", 99.995, "too large for DECIMAL(4,2)"),
        ("DECIMAL(4,2)", "1e999999999", "too large for DECIMAL(4,2)"),
        ("DECIMAL(4,2)", "NaN", "'NaN' is no number"),
        ("DOUBLE", float("inf"), "inf is no number"),
        ("DOUBLE", "1e400", "'1e400' is no number"),
        ("DATE", "2013-02-30", "'2013-02-30' is no date"),
        ("DATE", 5, "5 is no date"),
        ("TIME", "25:00", "'25:00' is no time"),
        ("BOOLEAN", "maybe", "'maybe' is no yes or no"),
        ("BOOLEAN", [], "[] is no yes or no"),
        ("VARCHAR(20)", "x" * 31, "too long: 31 of 20 characters"),
        ("TEXT", "x" * (LONGEST_TEXT + 1), "too long: 3,000,001 of 3,000,000 characters"),
        ("TEXT", object, "is no text"),
        ("TEXT", float("nan"), None),
        ("JSON", float("nan"), "nan is no JSON"),
        ("BLOB", 5, "5 is no bytes"),
    ],
)
def test_what_does_not_fit_says_why(kind: str, value: Any, said: str | None) -> None:
    if said is None:
        assert datatype(kind).fitted(value) == "nan"
        return
    with pytest.raises(Misfit) as refused:
        datatype(kind).fitted(value)
    assert said in str(refused.value) and len(str(refused.value)) < 100


def test_a_deep_nest_does_not_fit() -> None:
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]
    for kind in ("TEXT", "JSON", "INT"):
        with pytest.raises(Misfit):
            datatype(kind).fitted(nest)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.dates(),
    st.datetimes(), st.times(), st.decimals(), st.lists(st.integers()),
    st.sampled_from(["12.50", "1,000", "2013年1月2日", "yes", "0", "-7", ".5", "1.", "00012"]),
)  # fmt: skip
TYPES = st.sampled_from(
    [datatype(name) for name in KINDS if name != "VARCHAR"]
    + [datatype(f"{name} UNSIGNED") for name in ("INT", "BIGINT", "DECIMAL(4,2)", "DOUBLE")]
    + [datatype(name) for name in ("VARCHAR(3)", "DECIMAL(4,2)", "DECIMAL(2,2)", "DECIMAL(3)")]
)


@given(TYPES, VALUES)
def test_whatever_comes_fits_or_is_a_misfit(kind: Any, value: Any) -> None:
    try:
        found = kind.fitted(value)
    except Misfit:
        return
    assert found is None or type(found) in (str, int, float, bool, bytes)
    assert kind.fitted(found) == found or kind.kind == "json"
    if isinstance(found, str):
        assert "\0" not in found and found.encode() is not None


@given(TYPES, st.lists(VALUES, max_size=8), st.booleans())
@example(datatype("VARCHAR(9)"), [Decimal("sNaN")], False)  # no set takes it
@example(datatype("TEXT"), [Decimal("1.0"), Decimal("1.00")], False)  # equal, and not the same
def test_a_column_is_as_its_values_one_by_one(kind: Any, values: list[Any], is_key: bool) -> None:
    found, faults = fitted_column(kind, values, is_key)
    for at, value in enumerate(values):
        try:
            one = kind.fitted(value)
        except Misfit as misfit:
            assert faults[at].kind == misfit.kind and found[at] is None
            continue
        assert at not in faults
        if kind.kind == "decimal" and one is not None and not is_key:
            assert Decimal(found[at]) == Decimal(one)  # not rounded where it need not be
        else:
            assert found[at] == one


@given(st.lists(st.sampled_from(["1.5", "1.50", "01.5", "x", None]), max_size=6))
def test_in_a_key_equal_numbers_are_equal_texts(values: list[str | None]) -> None:
    found, _ = fitted_column(datatype("DECIMAL(4,2)"), values, is_key=True)
    assert {each for each in found if each} <= {"1.50"}


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_json_is_json(value: Any) -> None:
    found = datatype("JSON").fitted(value)
    assert found is None or json.loads(found) is None or isinstance(found, str)


@pytest.mark.parametrize(
    ("wide", "narrow", "is_wider"),
    [
        ("BIGINT", "INT", True),
        ("BIGINT", "INT UNSIGNED", True),
        ("INT UNSIGNED", "INT", False),
        ("INT", "INT UNSIGNED", False),
        ("BIGINT UNSIGNED", "INT UNSIGNED", True),
        ("DOUBLE UNSIGNED", "DOUBLE", False),
        ("DOUBLE", "DOUBLE UNSIGNED", True),
        ("TEXT", "VARCHAR(3)", True),
        ("TEXT", "DATE", False),
    ],
)
def test_a_type_holds_those_that_are_narrower(wide: str, narrow: str, is_wider: bool) -> None:
    assert datatype(wide).holds(datatype(narrow)) is is_wider
