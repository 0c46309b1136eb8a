"""Rows as COPY reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.tables.copied import copied

TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_whatever_a_text_holds_it_is_one_value(rows: list[tuple[str | None, str | None]]) -> None:
    lines = copied(rows).split("\n")
    assert lines.pop() == "" and len(lines) == len(rows)
    assert [tuple(map(_read, line.split("\t"))) for line in lines] == rows


def _read(field: str) -> str | None:
    """As PostgreSQL's page about COPY says."""
    if field == "\\N":
        return None
    letters = iter(field)
    meant = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    return "".join(meant[next(letters)] if each == "\\" else each for each in letters)


@pytest.mark.parametrize(
    ("value", "said"),
    [(1, "1"), (0.1, "0.1"), (True, "t"), (b"\0\xff", r"\\x00ff"), (-(2**63), None)],
)
def test_other_values(value: object, said: str | None) -> None:
    assert copied([(value, None)]) == f"{said or value}\t\\N\n"
