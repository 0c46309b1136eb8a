"""Rows of documents by the rules of the export's file."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.structure.writing import mapping, read
from tests.support.register import DOCUMENTS, TRUTH, as_truth, columns
from tools.structure.mapping import Export, read_mapping
from tools.structure.walk import Walker
from tools.tables.rows import MISSING, Extract
from tools.tables.target import open_target


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return read(tmp_path)


def walker(
    folder: Path, path: list[str], carried: list[str], fields: dict[str, str], **kinds: str
) -> Walker:
    """Of one mapping `m` that fills a table `t`."""
    said = {
        "mapping": {
            "m": {
                "dest_table": "t",
                "source_path": path,
                "associated_field_source_path": carried,
                "dest_field": fields,
            }
        },
        "table": {"t": columns(**(kinds or dict.fromkeys(fields.values(), "TEXT")))},
    }
    file = folder / "one.json"
    file.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    return Walker(read_mapping(file))


def rows(walk: Walker, document: object) -> list[tuple[Any, ...]]:
    return walk(document).rows.get("t", [])


def test_the_register_becomes_its_rows(export: Export, tmp_path: Path) -> None:
    walk, tables = Walker(export), list(export.tables)
    extracts = [Extract(name, walk(each).rows, tables) for name, each in DOCUMENTS.items()]
    with closing(open_target("sqlite:register.db", tmp_path)) as target:
        target.prepare(export.tables)
        for _ in range(2):
            assert target.replace(extracts).problems == []
        for name, table in export.tables.items():
            found = target.select(f"SELECT {', '.join(table.columns)} FROM {name}")
            assert as_truth(found) == TRUTH[name]
            assert len(found) == len(TRUTH[name])


def test_mappings_that_found_nothing_are_named(export: Export) -> None:
    walk = Walker(export)
    assert walk(DOCUMENTS["a.html"]).unmatched == ["年报", "资产", "许可"]
    assert walk(DOCUMENTS["a-reports.json"]).unmatched == ["公司", "人员", "许可"]


def test_lists_on_the_way_and_at_the_end_are_gone_through_in_order(tmp_path: Path) -> None:
    walk = walker(tmp_path, ["a", "b"], [""], {"x": "x"})
    document = {"k": {"a": [{"b": [{"x": 1}, {"x": 2}]}, {"b": {"x": 3}}, [[{"b": [[{"x": 4}]]}]]]}}
    assert rows(walk, document) == [(1,), (2,), (3,), (4,)]


def test_a_record_itself_is_a_row_by_an_empty_path(tmp_path: Path) -> None:
    walk = walker(tmp_path, [], [""], {"主键": "k", "x": "x"})
    assert rows(walk, {"a": {"x": 1}, "b": [{"x": 2}, {"x": 3}], "c": 4}) == [
        ("a", 1),
        ("b", 2),
        ("b", 3),
    ]


@pytest.mark.parametrize("branch", [None, {}, [], "", "text", 7, True, [{}], [[]], ["text", 7]])
def test_a_missing_or_empty_branch_gives_no_row_and_is_counted(
    branch: object, tmp_path: Path
) -> None:
    walk = walker(tmp_path, ["a"], [""], {"x": "x"})
    for document in ({"k": {"a": branch}}, {"k": branch}, branch):
        assert walk(document) == ({}, {}, ["m"])


@pytest.mark.parametrize("carried", [[""], ["n"]])
def test_an_empty_object_is_no_row_however_its_columns_are_filled(
    carried: list[str], tmp_path: Path
) -> None:
    walk = walker(tmp_path, ["a"], carried, {"主键": "k", "n": "x", "m": "x"})
    assert rows(walk, {"k": {"n": 1, "a": [{}, {"m": 2}]}}) == [("k", 1 if carried[0] else 2)]


# --- carried fields ------------------------------------------------------------------------


def test_a_carried_field_goes_to_every_row_below_and_wins_over_theirs(tmp_path: Path) -> None:
    walk = walker(tmp_path, ["a", "b", "c"], ["n", "n2", ""], {"n": "n", "n2": "n2", "x": "x"})
    below = {"c": [{"x": 1, "n": "own", "n2": "own"}, {"x": 2}]}
    document = {"k": {"n": "top", "a": [{"n2": "one", "b": below}, {"n2": "two", "b": below}]}}
    assert rows(walk, document) == [
        ("top", "one", 1),
        ("top", "one", 2),
        ("top", "two", 1),
        ("top", "two", 2),
    ]


def test_a_carried_field_that_is_missing_is_null_and_the_row_stays(tmp_path: Path) -> None:
    walk = walker(tmp_path, ["a", "b"], ["", "n"], {"n": "n", "x": "x"})
    assert rows(walk, {"k": {"a": {"b": {"x": 1, "n": "own"}}}}) == [(None, 1)]


def test_of_a_field_carried_from_two_levels_the_nearer_one_counts(tmp_path: Path) -> None:
    walk = walker(tmp_path, ["a", "b"], ["n", "n"], {"n": "n"})
    assert rows(walk, {"k": {"n": 1, "a": {"n": 2, "b": {"n": 3}}}}) == [(2,)]


# --- outer keys ----------------------------------------------------------------------------


def test_every_key_of_the_shell_is_the_key_of_its_record(tmp_path: Path) -> None:
    walk = walker(tmp_path, ["a"], [""], {"主键": "k", "x": "x"})
    assert rows(walk, {"1": {"a": {"x": 1, "主键": "own"}}, "2": {"a": {"x": 2}}}) == [
        ("1", 1),
        ("2", 2),
    ]
    assert rows(walk, [{"1": {"a": {"x": 1}}}, {3: {"a": {"x": 2}}}]) == [("1", 1), ("3", 2)]


def test_records_without_a_shell_have_their_key_by_a_field_or_the_source(export: Export) -> None:
    walk = Walker(export, outer="url", wants_keys=True)
    record = {"url": "http://h/1", "许可": [{"编号": "a"}, {"编号": "b"}]}
    walked = walk([record, {"许可": {"编号": "c"}}], "file.json")
    assert walked.rows["licence"] == [
        ("http://h/1", "a", MISSING),
        ("http://h/1", "b", MISSING),
        ("file.json", "c", MISSING),
    ]
    assert walked.keys == {"licence": ["http://h/1", "http://h/1", "file.json"]}


def test_what_can_be_no_key_gives_way_to_the_source(export: Export) -> None:
    walk = Walker(export, outer="id")
    said = [7, "", None, {}, True, 10**5000]
    found = walk([{"id": each, "许可": {"编号": "a"}} for each in said], "s").rows["licence"]
    assert [row[0] for row in found] == ["7", "s", "s", "s", "s", "s"]


# --- values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("object_", "value"),
    [
        ({"a": 1, "b": 2, "c": 3}, 1),
        ({"a": 0, "b": 2}, 0),
        ({"a": False, "b": 2}, False),
        ({"a": "", "b": None, "c": 3}, 3),
        ({"a": {}, "b": [], "c": "x"}, "x"),
        ({"c": 3, "b": 2}, 2),
        ({"a": None, "b": ""}, None),
        ({"b": ""}, ""),
        ({"z": 1}, MISSING),
    ],
)
def test_of_several_sources_the_first_that_is_not_empty_counts(
    object_: dict[str, Any], value: object, tmp_path: Path
) -> None:
    walk = walker(tmp_path, ["o"], [""], {"a": "x", "b": "x", "y": "y", "c": "x"})
    assert rows(walk, {"k": {"o": object_}}) == [(value, MISSING)]


def test_carried_fields_and_the_key_may_be_some_of_several_sources(tmp_path: Path) -> None:
    walk = walker(tmp_path, ["o"], ["n"], {"a": "x", "n": "x", "主键": "x"})
    assert rows(walk, {"k": {"n": "carried", "o": [{"a": "own"}, {"b": 1, "n": "no"}]}}) == [
        ("own",),
        ("carried",),
    ]
    assert rows(walk, {"k": {"o": {"b": 1}}}) == [("k",)]


def test_what_no_mapping_fills_is_null_or_its_default(tmp_path: Path) -> None:
    walk = walker(
        tmp_path, ["o"], [""], {"a": "a"}, a="TEXT", b="TEXT", c="TEXT; DEFAULT 'x'", d="INT"
    )
    assert rows(walk, {"k": {"o": {"b": 1}}}) == [(MISSING, None, MISSING, None)]


def test_objects_and_lists_in_a_column_are_json(export: Export) -> None:
    found = Walker(export)({"k": {"许可": {"编号": {"号": ["甲", 1]}}}}).rows["licence"]
    kind = export.tables["licence"].columns["number"]
    assert kind.fitted(found[0][1]) == '{"号": ["甲", 1]}'


def test_one_field_may_fill_only_the_columns_it_is_given(tmp_path: Path) -> None:
    export = read(tmp_path, mapping("许可", dest_field={"编号": "number"}))
    found = Walker(export)({"k": {"许可": {"编号": 1, "number": 2, "until": 3}}})
    assert found.rows["licence"] == [(None, 1, None)]


# --- hostile documents ---------------------------------------------------------------------

PATH = ["年报", "详情", "资产"]


def nested(depth: int, inner: Any, key: str | None) -> Any:
    for _ in range(depth):
        inner = [inner] if key is None else {key: inner}
    return inner


@pytest.mark.parametrize("key", [None, "年报", "91A"])
def test_ten_thousand_levels_are_no_reason_to_fail(key: str | None, export: Export) -> None:
    deep = nested(10_000, {"编号": "x"}, key)
    for document in (deep, {"k": deep}, {"k": {"许可": deep, "年报": deep}}):
        Walker(export)(document)
    assert Walker(export)({"k": {"许可": nested(10_000, {"编号": "x"}, None)}}).rows["licence"]


def test_a_huge_list_is_walked(export: Export) -> None:
    people = [{"姓名": "x"}, "odd", None, [{"姓名": "y"}]] * 50_000
    assert len(Walker(export)({"k": {"人员": people}}).rows["person"]) == 100_000


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
names = st.sampled_from([*PATH, "基本", "人员", "许可", "序号", "编号", "主键", "91A", "url"])
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(names | st.text(max_size=3) | st.integers(), inner, max_size=5)
    ),
    max_leaves=40,
)


@settings(max_examples=300)
@given(document=documents, outer=st.sampled_from(["", "url", "source"]))
def test_any_document_gives_rows_as_long_as_their_table(
    document: object, outer: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    export = read(tmp_path_factory.getbasetemp())
    walked = Walker(export, outer, wants_keys=True)(document, "source")
    for table, some in walked.rows.items():
        assert {len(row) for row in some} == {len(export.tables[table].columns)}
        assert len(walked.keys[table]) == len(some)
        assert all(type(key) is str for key in walked.keys[table])
    filled = {export.mappings[name].table for name in export.mappings.keys() - walked.unmatched}
    assert filled == walked.rows.keys()


def test_what_orjson_reads_is_walked_as_well(export: Export) -> None:
    for document in DOCUMENTS.values():
        assert Walker(export)(orjson.loads(orjson.dumps(document))) == Walker(export)(document)
