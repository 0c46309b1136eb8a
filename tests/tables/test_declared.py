"""Declared tables: every mistake is said with its place and what would be right."""

from __future__ import annotations

from typing import Any

import pytest

from tools.errors import UsageError
from tools.tables.datatype import datatype
from tools.tables.declared import KEY_CHARACTERS, Option, Table, checked, tables_of
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


@pytest.mark.parametrize(
    ("kind", "key", "option", "said"),
    [
        ("TEXT", (), Option(is_unsigned=True), "is TEXT, and only numbers are UNSIGNED"),
        ("JSON", (), Option(is_unique=True), "is JSON, which cannot be UNIQUE"),
        ("VARCHAR(700)", (), Option(is_unique=True), "cannot be UNIQUE: an index takes 675"),
        ("TEXT", (), Option(is_counted=True), "only whole numbers are counted"),
        ("INT", (), Option(is_counted=True), "write PRIMARY KEY or UNIQUE beside it"),
        ("BLOB", (), Option(default="x", has_default=True), "is BLOB, which has no DEFAULT"),
        ("INT", (), Option(default="x", has_default=True), "DEFAULT that does not fit: 'x' is no"),
        ("JSON", ("a",), Option(), "'a' is JSON, which cannot be part of a key"),
    ],
)
def test_options_that_cannot_be_are_said(
    kind: str, key: tuple[str, ...], option: Option, said: str
) -> None:
    table = Table("t", {"a": datatype(kind)}, key, options={"a": option}, own="document")
    with pytest.raises(UsageError) as refused:
        checked(table, "register.json: table.t")
    assert said in str(refused.value) and str(refused.value).startswith("register.json: table.t: ")


def test_options_that_can_be_are_kept() -> None:
    options = {"a": Option(is_counted=True), "b": Option(is_unique=True, is_unsigned=False)}
    columns = {"a": datatype("INT UNSIGNED"), "b": datatype("TEXT")}
    table = checked(Table("t", columns, ("a",), options=options, own="document"), "x")
    assert [str(each) for each in table.columns.values()] == ["INTEGER UNSIGNED", "VARCHAR(675)"]
    assert table.counted == "a" and list(table.own_columns) == ["_document", "_row"]
    with pytest.raises(UsageError, match="only one column can be AUTO_INCREMENT"):
        both = {"a": Option(is_counted=True, is_unique=True)}
        wrong = {name: datatype("INT") for name in "ab"}
        checked(Table("t", wrong, options={**both, "b": both["a"]}, own="document"), "x")
