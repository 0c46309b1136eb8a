"""Declared tables: every mistake is said with its place and what would be right."""

from __future__ import annotations

from typing import Any

import pytest

from tools.errors import UsageError
from tools.tables.declared import KEY_CHARACTERS, tables_of
from tools.tables.rows import Row

GOOD: dict[str, Any] = {"columns": {"sku": "VARCHAR(20)", "name": "TEXT"}, "key": ["sku"]}


def test_what_is_declared_is_understood() -> None:
    table = tables_of({"product": {**GOOD, "at_least": {"name": 0.9}}})["product"]
    assert (table.name, table.key, table.at_least) == ("product", ("sku",), {"name": 0.9})
    assert {name: str(each) for name, each in table.columns.items()} == GOOD["columns"]


@pytest.mark.parametrize("key", ["sku", ["sku"], ("sku",)])
def test_a_key_is_written_in_any_way(key: Any) -> None:
    assert tables_of({"t": {**GOOD, "key": key}})["t"].key == ("sku",)


def test_texts_of_a_key_share_what_an_index_takes() -> None:
    columns = {"a": "TEXT", "b": "TEXT", "c": "VARCHAR(75)", "d": "TEXT"}
    table = tables_of({"t": {"columns": columns, "key": ["a", "b", "c"]}})["t"]
    said = [str(each) for each in table.columns.values()]
    assert said == ["VARCHAR(300)", "VARCHAR(300)", "VARCHAR(75)", "TEXT"]


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"t": 5}, "tables.t must be a table with columns"),
        ({"t": {}}, "tables.t.columns must have columns"),
        ({"t": {**GOOD, "keys": []}}, "tables.t has no 'keys'; did you mean 'key'?"),
        ({"t": {"columns": {"a": "TXT"}}}, "tables.t.columns.a: 'TXT' is no type; did you mean"),
        ({"t": {"columns": {"a": 5}}}, "tables.t.columns.a must be a type in quotes"),
        ({"t": {**GOOD, "key": ["suk"]}}, "t.key: no column 'suk'; did you mean 'sku'?"),
        ({"t": {**GOOD, "key": ["sku", "sku"]}}, "tables.t.key names a column twice"),
        ({"t": {**GOOD, "key": 5}}, "tables.t.key must be names of columns"),
        ({"t": {"columns": {"a": "JSON"}, "key": ["a"]}}, "'a' is JSON, which cannot be part"),
        ({"t": {**GOOD, "at_least": {"nam": 1}}}, "t.at_least: no column 'nam'; did you mean"),
        ({"t": {**GOOD, "at_least": {"name": 90}}}, "t.at_least.name must be a share from 0 to 1"),
        ({"t": {**GOOD, "at_least": 1}}, "tables.t.at_least must be shares by column"),
        ({"_t": GOOD}, "the name '_t' begins with _"),
        ({"t": {"columns": {"_n": "INT"}}}, "tables.t.columns: the name '_n' begins with _"),
        ({"": GOOD}, "the name '' is empty"),
        ({" t": GOOD}, "begins or ends with a space"),
        ({'a"b': GOOD}, "must be without quotes"),
        ({"a`b": GOOD}, "must be without quotes"),
        ({"a\x1bb": GOOD}, "must be without quotes"),
        ({"a\ud800": GOOD}, "must be without quotes"),
        ({"a😀": GOOD}, "which MariaDB does not allow in a name"),
        ({"企" * 22: GOOD}, "has 66 bytes, and PostgreSQL keeps 63"),
        ({"T": GOOD, "t": GOOD}, "tables: 'T' and 't' are the same name in some databases"),
        ({"t": {"columns": {"a": "INT", "A": "INT"}}}, "'a' and 'A' are the same name"),
        ({"t": {"columns": {"a": "VARCHAR(700)"}, "key": "a"}}, "an index takes 675"),
        ({"t": {"columns": dict.fromkeys("abcde", "VARCHAR(4000)")}}, "make the longest VARCHAR"),
        ({"t": {"columns": {f"c{n}": "INT" for n in range(1001)}}}, "1,001 columns; at most 1,000"),
    ],
)
def test_mistakes_are_said_with_their_place(declared: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        tables_of(declared)
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_another_place_is_named() -> None:
    with pytest.raises(UsageError, match=r"^tasks/shop\.toml: tables\.t must be"):
        tables_of({"t": 1}, "tasks/shop.toml: tables")


def test_a_row_has_its_values() -> None:
    row = Row("t", sku="A", table=1)
    assert (row.table, row.values) == ("t", {"sku": "A", "table": 1})
    assert row == Row("t", table=1, sku="A") != Row("u", table=1, sku="A")
    assert KEY_CHARACTERS * 4 <= 2704
