"""What a column's option says, in any order; anything else is refused where it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.structure.option import ParsedOption, parsed_option
from tools.tables.declared import Option

RIGHT: list[tuple[str, ParsedOption]] = [
    ("", ParsedOption(Option(), False)),
    ("  \n", ParsedOption(Option(), False)),
    ("NULL", ParsedOption(Option(), False)),
    ("not null", ParsedOption(Option(is_required=True), False)),
    ("UNIQUE NOT\tNULL", ParsedOption(Option(is_required=True, is_unique=True), False)),
    ("PRIMARY KEY", ParsedOption(Option(is_required=True), True)),
    (
        "AUTO_INCREMENT PRIMARY KEY UNSIGNED",
        ParsedOption(Option(is_required=True, is_counted=True, is_unsigned=True), True),
    ),
    ("DEFAULT -3", ParsedOption(Option(default="-3", has_default=True), False)),
    ("DEFAULT '7'", ParsedOption(Option(default="7", has_default=True), False)),
    ("DEFAULT 1.5", ParsedOption(Option(default="1.5", has_default=True), False)),
    ("DEFAULT NULL", ParsedOption(Option(default=None, has_default=True), False)),
    ("DEFAULT ''", ParsedOption(Option(default="", has_default=True), False)),
    ("DEFAULT TRUE", ParsedOption(Option(default=True, has_default=True), False)),
    ("DEFAULT 7", ParsedOption(Option(default="7", has_default=True), False)),
    (
        "DEFAULT '2013年12月18日'",
        ParsedOption(Option(default="2013年12月18日", has_default=True), False),
    ),
    (
        r"DEFAULT 'O''Brien \'x\' \n'",
        ParsedOption(Option(default="O'Brien 'x' \n", has_default=True), False),
    ),
    (
        "COMMENT 'a; DROP TABLE -- \"x\"' NOT NULL",
        ParsedOption(Option(is_required=True, comment='a; DROP TABLE -- "x"'), False),
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
}


@pytest.mark.parametrize(("text", "meant"), RIGHT)
def test_what_an_option_says(text: str, meant: ParsedOption) -> None:
    assert parsed_option(text) == meant


@pytest.mark.parametrize(("text", "sentence"), WRONG.items())
def test_anything_else_is_refused_where_it_begins(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        parsed_option(text)
    assert str(caught.value) == sentence


@given(text=st.text(max_size=30) | st.text(st.sampled_from("DEFAULT 'NOTULL\"\\;1."), max_size=30))
def test_any_text_is_an_option_or_a_sentence(text: str) -> None:
    try:
        parsed_option(text)
    except ValueError as error:
        assert str(error)
