"""What a run changed of its settings, as the log says it and the page reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.assist.run_log import LONGEST, changes
from tools.settings import Settings
from tools.web.log_file import beginnings
from tools.web.logged_settings import settings_in

USUAL = Settings()
WORDS = st.text(st.sampled_from("ab, =()[]{}'\"\\\n"), max_size=90)


def logged(settings: Settings) -> list[str]:
    return list(changes(settings, USUAL))


def test_a_value_of_several_is_one(tmp_path: Path) -> None:
    filter_ = replace(USUAL.filter, languages=("en", "fr"))
    settings = replace(USUAL, seeds=("/c/en/dog", "/c/en/cat, and more"), depth=2, filter=filter_)
    said = logged(settings)
    assert len(said) == 3
    text = f"Sheaf 1 (x) begins: main.py; settings that differ from the default: {', '.join(said)}"
    (tmp_path / "log").write_text(f"2026-01-01 00:00:00,000 INFO    {text}\n", encoding="utf-8")
    (begun,) = beginnings(tmp_path / "log")
    assert begun.changed == said


@pytest.mark.parametrize("length", range(LONGEST - 30, LONGEST + 30))
def test_a_value_that_was_cut_ends_there(length: int) -> None:
    for seeds in (("a, b=" * 60)[:length], "a" * length), tuple("abcdefghij" * (length // 10)):
        said = logged(replace(USUAL, seeds=tuple(seeds), depth=2, attempts=7))
        assert settings_in(", ".join(said)) == said


@given(st.lists(WORDS, max_size=4), st.dictionaries(WORDS, WORDS, max_size=3))
def test_whatever_stands_in_a_value(seeds: list[str], databases: dict[str, str]) -> None:
    said = logged(replace(USUAL, seeds=tuple(seeds), databases={"x": databases}, depth=2))
    assert settings_in(", ".join(said)) == said
