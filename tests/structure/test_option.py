"""What a column's option says, in any order; anything else is refused where it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.structure.option import Parsed, parsed_option
from tools.tables.datatype import datatype
from tools.tables.declared import Option

TEXT, INT = datatype("VARCHAR(40)"), datatype("INT")

RIGHT: list[tuple[str, str, Parsed]] = [
    ("", "INT", Parsed(Option(), False)),
    ("  \n", "INT", Parsed(Option(), False)),
    ("NULL", "INT", Parsed(Option(), False)),
    ("not null", "INT", Parsed(Option(is_required=True), False)),
    ("UNIQUE NOT\tNULL", "INT", Parsed(Option(is_required=True, is_unique=True), False)),
    ("PRIMARY KEY", "INT", Parsed(Option(is_required=True), True)),
    (
        "AUTO_INCREMENT PRIMARY KEY UNSIGNED",
        "INT",
        Parsed(Option(is_required=True, is_counted=True, is_unsigned=True), True),
    ),
    ("DEFAULT -3", "INT", Parsed(Option(default=-3, has_default=True), False)),
    ("DEFAULT '7'", "INT", Parsed(Option(default=7, has_default=True), False)),
    ("DEFAULT 1.5", "DECIMAL(6,2)", Parsed(Option(default="1.50", has_default=True), False)),
    ("DEFAULT NULL", "TEXT", Parsed(Option(default=None, has_default=True), False)),
    ("DEFAULT ''", "TEXT", Parsed(Option(default="", has_default=True), False)),
    ("DEFAULT TRUE", "BOOL", Parsed(Option(default=True, has_default=True), False)),
    ("DEFAULT 7", "TEXT", Parsed(Option(default="7", has_default=True), False)),
    (
        "DEFAULT '2013年12月18日'",
        "DATE",
        Parsed(Option(default="2013-12-18", has_default=True), False),
    ),
    (
        r"DEFAULT 'O''Brien \'x\' \n'",
        "TEXT",
        Parsed(Option(default="O'Brien 'x' \n", has_default=True), False),
    ),
    (
        "COMMENT 'a; DROP TABLE -- \"x\"' NOT NULL",
        "INT",
        Parsed(Option(is_required=True, comment='a; DROP TABLE -- "x"'), False),
    ),
]

WRONG = {
    "DEFAULT 0; DROP": "'DEFAULT 0; DROP' is not understood at ';'",
    "NOT": "'NOT' is not understood at its end",
    "NOT UNIQUE": "'NOT UNIQUE' is not understood at 'UNIQUE'",
    "PRIMARY": "'PRIMARY' is not understood at its end",
    "DEFAULT": "'DEFAULT' is not understood at its end",
    "DEFAULT now()": "'DEFAULT now()' is not understood at 'now'",
    "DEFAULT CURRENT_DATE": "'DEFAULT CURRENT_DATE' is not understood at 'CURRENT_DATE'",
    "DEFAULT (1)": "'DEFAULT (1)' is not understood at '('",
    "DEFAULT 'x": '"DEFAULT \'x" is not understood at "\'"',
    "COMMENT x": "'COMMENT x' is not understood at 'x'",
    "REFERENCES t(id)": "'REFERENCES t(id)' is not understood at 'REFERENCES'",
    "-- x": "'-- x' is not understood at '-'",
    "NULL NOT NULL": "'NULL NOT NULL' says both that it may be NULL and that it may not",
    "DEFAULT NULL NOT NULL": (
        "'DEFAULT NULL NOT NULL' says both that it may be NULL and that it may not"
    ),
    "AUTO_INCREMENT": "'AUTO_INCREMENT': AUTO_INCREMENT needs PRIMARY KEY or UNIQUE beside it",
    "AUTO_INCREMENT UNIQUE DEFAULT 1": (
        "'AUTO_INCREMENT UNIQUE DEFAULT 1': AUTO_INCREMENT can have no DEFAULT"
    ),
    "DEFAULT 'x'": "\"DEFAULT 'x'\": its DEFAULT 'x' is no whole number (INTEGER)",
}


@pytest.mark.parametrize(("text", "kind", "meant"), RIGHT)
def test_what_an_option_says(text: str, kind: str, meant: Parsed) -> None:
    assert parsed_option(text, datatype(kind)) == meant


@pytest.mark.parametrize(("text", "sentence"), WRONG.items())
def test_anything_else_is_refused_where_it_begins(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        parsed_option(text, INT)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", ["UNSIGNED", "AUTO_INCREMENT UNIQUE"])
def test_what_only_numbers_can_be_is_refused_of_a_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"VARCHAR\(40\)"):
        parsed_option(text, TEXT)


def test_a_long_comment_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1,024 are possible"):
        parsed_option(f"COMMENT '{'x' * 1025}'", INT)


@given(text=st.text(max_size=30) | st.text(st.sampled_from("DEFAULT 'NOTULL\"\\;1."), max_size=30))
def test_any_text_is_an_option_or_a_sentence(text: str) -> None:
    try:
        parsed_option(text, TEXT)
    except ValueError as error:
        assert str(error)
