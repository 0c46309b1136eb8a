"""Whatever somebody writes into an export's file is a mistake that is told, or works."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.structure.writing import changed, written
from tests.support.register import EXPORT
from tools.errors import UsageError
from tools.structure.mapping import Export, read_mapping
from tools.structure.walk import Walker

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.sampled_from(["company", "INT", "NOT NULL", "主键", "mysql", "", "x" * 70]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(value.items())
    if isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(each for key, below in inner for each in places(below, (*path, key)))]


def put(export: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    inside = export
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return export


@settings(max_examples=300)
@given(place=st.sampled_from(places(EXPORT)), value=values)
def test_any_value_in_any_place_is_a_mistake_or_works(
    place: tuple[Any, ...], value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    file = written(folder, put(changed(lambda _: None), place, value), "fuzzed.json")
    try:
        export = read_mapping(file)
    except UsageError as error:
        assert all(line.startswith("fuzzed.json") for line in str(error).splitlines())
    else:
        assert_works(export)


def assert_works(export: Export) -> None:
    walked = Walker(export)(
        {"91A": {"基本": {"名称": "x"}, "年报": [{"详情": {"资产": {"a": 1}}}]}}
    )
    for table, rows in walked.rows.items():
        assert {len(row) for row in rows} == {len(export.tables[table].columns)}


def test_a_deep_nest_in_a_wrong_place_is_a_mistake(tmp_path: Path) -> None:
    near = sys.getrecursionlimit()
    for depth in (400, *range(near - 150, near), 20_000):
        file = tmp_path / "deep.json"
        file.write_text(f'{{"mapping": {"[" * depth}1{"]" * depth}}}', encoding="utf-8")
        with pytest.raises(UsageError, match=r"deep\.json"):
            read_mapping(file)
