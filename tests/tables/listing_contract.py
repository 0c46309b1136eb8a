"""What every database promises to whoever looks at rows, page by page. A test subclasses this."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.tables.document_contract import HOSTILE, by_name, extract, people, table
from tests.tables.target_contract import Open, brought, one_table, product, tag
from tools.tables.declared import tables_of
from tools.tables.listing import CUT, LONGEST
from tools.tables.rows import Extract, Row
from tools.tables.target import Target

KEYS = (
    ("VARCHAR(20)", ("a", "b'c", "d%s", "犬", "x y ")),
    ("INT", (-2, 0, 7, 10, 11)),
    ("BIGINT", (-(2**62), 5, 2**53 + 1, 2**53 + 2, 2**62)),
    ("DECIMAL(10,2)", ("-1.50", "2.00", "3.25", "10.00", "10.50")),
    ("DOUBLE", (-1e9, 0.1, 0.2, 1 / 3, 1e300)),
    ("BOOLEAN", (False, True)),
    ("DATE", ("1999-12-31", "2000-01-01", "2024-02-29")),
    ("DATETIME", ("2024-01-01 00:00:00.000001", "2024-01-01 00:00:00.000002")),
    ("TIME", ("00:00:00.5", "01:00:00", "23:59:59")),
)
MADE_UP = ("nonsense", "[]", "[1]", "[1, 2, 3]", '{"a": 1}', "[null, null]", "[[1], {}]", '"a"')


def pages(target: Target, name: str, most: int) -> Iterator[list[tuple[Any, ...]]]:
    after: str | None = ""
    while after is not None:
        found = target.listing(name, after, most)
        assert found is not None and found.after != after, "the same page again and again"
        after = found.after
        yield found.rows


def all_rows(target: Target, name: str, most: int) -> list[tuple[Any, ...]]:
    return [row for page in pages(target, name, most) for row in page]


class ListingContract:
    """Beside a TargetContract and a DocumentContract, whose fixtures it uses."""

    def test_rows_are_listed_with_what_they_are_from(self, target: Target) -> None:
        target.write([brought(product("A", name="Tee", stock=3), tag("x"))])
        found = target.listing("product", "", 10)
        assert found is not None and found.after is None
        assert found.columns == ("sku", "name", "price", "stock", "_request")
        assert found.rows == [("A", "Tee", None, 3, "detail GET http://h/1")]

    def test_no_other_table_is_listed(self, target: Target) -> None:
        for name in ("_tables", "none", "product; DROP TABLE product", "", "information_schema"):
            assert target.listing(name, "", 10) is None

    def test_an_empty_table_has_an_empty_page(self, target: Target) -> None:
        found = target.listing("product", "", 10)
        assert found is not None and (found.rows, found.after) == ([], None)

    @pytest.mark.parametrize(("kind", "values"), KEYS, ids=[kind for kind, _ in KEYS])
    def test_pages_by_key_have_every_row_once(
        self, open_again: Open, kind: str, values: Sequence[Any]
    ) -> None:
        """In the order of the key, whatever type it has."""
        target = open_again()
        target.prepare(tables_of({"t": {"columns": {"k": kind, "n": "INT"}, "key": ["k"]}}))
        rows = [Row("t", k=value, n=at) for at, value in enumerate(values)]
        target.write([brought(*rows[::-1])._replace(tables=["t"])])
        for most in (1, 2, len(values)):
            numbers = [row[1] for row in all_rows(target, "t", most)]
            assert sorted(numbers) == [*range(len(values))], most
            if kind != "VARCHAR(20)":  # of which each database has its own order
                assert numbers == [*range(len(values))], most

    def test_pages_by_a_key_of_two_columns(self, open_again: Open) -> None:
        target = open_again()
        columns = {"shop": "TEXT", "n": "INT"}
        target.prepare(tables_of({"t": {"columns": columns, "key": ["shop", "n"]}}))
        rows = [Row("t", shop=shop, n=n) for shop in "ab" for n in range(4)]
        target.write([brought(*rows[::-1])._replace(tables=["t"])])
        wanted = [(shop, n) for shop in "ab" for n in range(4)]
        assert [row[:2] for row in all_rows(target, "t", 3)] == wanted

    def test_pages_without_a_key_go_by_what_rows_are_from(self, target: Target) -> None:
        for request in ("a", "b", *HOSTILE[:3]):
            rows = [tag(f"{n}") for n in range(3)]
            target.write([brought(*rows, source=request)])
        found = all_rows(target, "tag", 2)
        assert len(found) == len({*found}) == 15
        of_a = [row[1] for row in found if row[2] == "a"]
        assert of_a == ["0", "1", "2"]

    def test_rows_of_documents_are_listed(self, documents: Target) -> None:
        documents.replace([people(*HOSTILE), people("x", document="b.html"), one_company()])
        found = all_rows(documents, "person", 2)
        assert len(found) == len(HOSTILE) + 1
        assert [row[-1] for row in found] == ["a.html"] * len(HOSTILE) + ["b.html"]
        assert [row[1] for row in found[:-1]] == [*range(len(HOSTILE))]
        (company,) = all_rows(documents, "company", 2)
        assert company[2] == "2013-12-18"

    @pytest.mark.parametrize("after", MADE_UP)
    def test_a_place_that_somebody_made_up_is_the_beginning(
        self, target: Target, after: str
    ) -> None:
        target.write([brought(product("A"), tag("x"))])
        for name in ("product", "tag"):
            found = target.listing(name, after, 10)
            assert found is not None and len(found.rows) <= 1
        at_tag = target.listing("tag", after, 10)
        assert at_tag is not None and len(at_tag.rows) == 1

    def test_values_of_each_type_can_be_told_to_programs(self, open_again: Open) -> None:
        target = open_again()
        kinds = {"yes": "BOOLEAN", "j": "JSON", "b": "BLOB", "x": "DOUBLE", "t": "TEXT"}
        target.prepare(one_table(**kinds))
        row = Row("t", yes=True, j={"a": [1, "犬"]}, b=b"\x00" * 2000, x=0.5, t="long" * 1000)
        nothing = Row("t", yes=False)
        target.write([brought(row, nothing)._replace(tables=["t"])])
        full, empty = all_rows(target, "t", 10)
        assert full[0] is True and empty[:-1] == (False, None, None, None, None)
        assert json.loads(full[1]) == {"a": [1, "犬"]}
        assert full[2:4] == ("2,000 bytes", 0.5)
        assert full[4] == ("long" * 1000)[:LONGEST] + CUT

    def test_names_are_quoted(self, open_again: Open) -> None:
        target = open_again()
        declared = by_name(table("order by", {"select": "INT", "a 100 %s": "TEXT"}))
        target.prepare(declared)
        target.replace([Extract("d", {"order by": [(1, "x"), (2, "y")]}, ["order by"])])
        assert [row[:2] for row in all_rows(target, "order by", 1)] == [(1, "x"), (2, "y")]


def one_company() -> Extract:
    return extract("c.html", company=[("91A", "Tee", "2013年12月18日", 5)])
