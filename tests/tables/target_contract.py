"""What every database of declared tables promises. A test subclasses this and gives an address."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.support.command import ROOT
from tools.errors import HarvestError, StateDamaged, StopHarvest, UsageError
from tools.tables.declared import Table, tables_of
from tools.tables.rows import Brought, Row, TableCount
from tools.tables.target import Target, open_target, visit_target

Open = Callable[[], Target]
SHOP = {
    "product": {
        "key": ["sku"],
        "columns": {"sku": "VARCHAR(20)", "name": "TEXT", "price": "DECIMAL(10,2)", "stock": "INT"},
    },
    "tag": {"columns": {"product": "TEXT", "tag": "VARCHAR(5)"}},
}
TABLES = tables_of(SHOP)
SEEN = 1_700_000_000.25


def brought(*rows: Row, source: str = "detail GET http://h/1", activity: int = 1) -> Brought:
    return Brought(source, rows, ["product", "tag"], activity, SEEN)


def product(sku: Any, **more: Any) -> Row:
    return Row("product", sku=sku, **more)


def tag(name: Any) -> Row:
    return Row("tag", product="A", tag=name)


def one_table(**columns: str) -> dict[str, Table]:
    return tables_of({"t": {"columns": columns}})


class TargetContract:
    """Subclasses give a fixture `address`: of an empty database, the same again and again."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path

    @pytest.fixture
    def open_again(self, address: str, folder: Path) -> Iterator[Open]:
        opened: list[Target] = []

        def opens() -> Target:
            opened.append(open_target(address, folder))
            return opened[-1]

        yield opens
        for target in opened:
            target.close()

    @pytest.fixture
    def target(self, open_again: Open) -> Target:
        target = open_again()
        target.prepare(TABLES)
        return target

    # --- rows ------------------------------------------------------------------------------

    def test_rows_are_stored_with_what_they_are_from(self, target: Target) -> None:
        row = product("A", name="Tee", price="12.5", stock=3)
        written = target.write([brought(row, tag("x"), tag("x"), activity=7)])
        assert (written.rows, written.misfits) == ({"product": 1, "tag": 2}, {})
        (found,) = target.select("SELECT * FROM product")
        assert (found.sku, found.name, Decimal(str(found.price)), found.stock) == (
            "A", "Tee", Decimal("12.5"), 3,
        )  # fmt: skip
        assert (found._request, found._n, found._activity) == ("detail GET http://h/1", 0, 7)
        assert str(found._seen) == "2023-11-14 22:13:20"
        numbers = [row._n for row in target.select("SELECT _n FROM tag ORDER BY _n")]
        assert numbers == [0, 1]

    def test_written_twice_nothing_is_doubled(self, target: Target) -> None:
        many = [brought(product("A"), tag("x"), tag("x"), tag("y")) for _ in range(2)]
        target.write(many[:1])
        before = target.select("SELECT * FROM tag ORDER BY _n")
        target.write(many[:1])
        target.write(many)
        assert target.select("SELECT * FROM tag ORDER BY _n") == before
        assert target.counts()["product"].rows == 1

    def test_the_same_key_replaces_the_row(self, target: Target) -> None:
        target.write([brought(product("A", name="old", stock=1), product("B"))])
        target.write([brought(product("A", name="new"), source="another", activity=2)])
        assert [tuple(row) for row in self.products(target)] == [
            ("A", "new", None, "another", 2),
            ("B", None, None, "detail GET http://h/1", 1),
        ]

    def products(self, target: Target) -> Any:
        return target.select(
            "SELECT sku, name, stock, _request, _activity FROM product ORDER BY sku"
        )

    def test_of_the_same_key_in_one_batch_the_last_stays(self, target: Target) -> None:
        target.write([brought(product("A", name="1"), product("A", name="2")),
                      brought(product("A", name="3"), source="b")])  # fmt: skip
        assert [row.name for row in self.products(target)] == ["3"]

    def test_rows_of_a_request_replace_its_earlier_ones(self, target: Target) -> None:
        target.write([brought(tag("x"), tag("y"), source="a"), brought(tag("z"), source="b")])
        target.write([brought(tag("w"), source="a")])
        assert self.tags(target) == ["w", "z"]
        target.write([brought(source="a")])
        assert self.tags(target) == ["z"]

    def tags(self, target: Target) -> list[str]:
        return sorted(row.tag for row in target.select("SELECT tag FROM tag"))

    def test_what_a_request_may_not_write_stays(self, target: Target) -> None:
        target.write([brought(tag("x"))])
        target.write([brought(product("A"))._replace(tables=["product"])])
        assert self.tags(target) == ["x"]

    def test_of_a_request_that_came_twice_the_last_counts(self, target: Target) -> None:
        target.write([brought(tag("x"), tag("y")), brought(tag("z"))])
        assert self.tags(target) == ["z"]

    def test_thousands_of_requests_and_long_ones(self, target: Target) -> None:
        many = [brought(tag("x"), source="u" * 4000 + str(number)) for number in range(1200)]
        for _ in range(2):
            target.write(many)
            assert target.counts(["tag"])["tag"].rows == 1200

    def test_case_spaces_and_accents_tell_keys_apart(self, target: Target) -> None:
        keys = ["a", "A", "a ", "á", "a\u0301", "ß", "ss", "茶"]
        for key in keys:
            target.write([brought(product(key, name=key), source=key)])
        target.write([brought(*(product(key, name=key) for key in keys))])
        found = {row.sku: row.name for row in self.products(target)}
        assert found == {key: key for key in keys}

    # --- values ----------------------------------------------------------------------------

    def test_misfits_are_left_out_and_counted(self, target: Target) -> None:
        written = target.write(
            [
                brought(
                    *(product("A"), product("B" * 21), product("C", price="cheap")),
                    *(product("D", stock=2**31), product(None), product("E", stok=1)),
                    *(product("F", price="1e9"), Row("produkt", sku="G"), tag("sixsix")),
                )
            ]
        )
        assert written.rows == {"product": 1, "tag": 0}
        assert written.misfits == {
            "product.sku: too long": 1,
            "product.price: no number": 1,
            "product.stock: too large": 1,
            "product: no sku": 1,
            "product: no column 'stok'": 1,
            "product.price: too large": 1,
            "no table 'produkt'": 1,
            "tag.tag: too long": 1,
        }
        assert [row.sku for row in self.products(target)] == ["A"]

    def test_every_type_comes_back(self, open_again: Open) -> None:
        target = open_again()
        target.prepare(
            one_table(
                whole="BIGINT", real="DOUBLE", yes="BOOLEAN", day="DATE", moment="DATETIME",
                hour="TIME", data="JSON", raw="BLOB", exact="DECIMAL(15,3)", long="TEXT",
            )
        )  # fmt: skip
        long = "茶" * 100_000 + "😀"
        row = Row(
            "t", whole="9,000,000,000", real=0.1, yes="no", day="2013年12月18日",
            moment="2013-12-18T10:00:00.5+08:00", hour="10:30", data={"a": ["茶", None]},
            raw=b"\x00\xff", exact="1,234.5005", long=long,
        )  # fmt: skip
        assert target.write([Brought("s", [row], ["t"], 1, SEEN)]).misfits == {}
        (found,) = target.select("SELECT * FROM t")
        assert (found.whole, found.real, bool(found.yes)) == (9_000_000_000, 0.1, False)
        assert (str(found.day), str(found.hour)[-8:]) == ("2013-12-18", "10:30:00")
        assert str(found.moment).rstrip("0") == "2013-12-18 02:00:00.5"
        assert bytes(found.raw) == b"\x00\xff" and found.long == long
        assert Decimal(str(found.exact)) == Decimal("1234.501")
        assert str(found.data).replace("'", '"').replace("None", "null") == '{"a": ["茶", null]}'

    def test_empty_values_are_empty_and_counted_so(self, target: Target) -> None:
        target.write([brought(product("A", price="", stock=" ", name=""), product("B", stock=0))])
        assert target.counts()["product"] == TableCount(
            2, {"sku": 2, "name": 1, "price": 0, "stock": 1}
        )

    @pytest.mark.parametrize(
        "text",
        ["'); DROP TABLE product; --", 'x"y`z\\', "\\N", "\\.", "a\tb\nc\rd", "%s %(a)s :b ? {}"],
    )
    def test_hostile_values_are_only_values(self, target: Target, text: str) -> None:
        target.write([brought(product("A", name=text), tag("x"), source=text)])
        target.write([brought(product("A", name=text), source=text)])
        assert [row.name for row in self.products(target)] == [text]
        assert self.tags(target) == []

    def test_what_no_database_takes_is_taken_out(self, target: Target) -> None:
        target.write([brought(product("a\0b\ud800", name="\0"), source="s\0\ud800")])
        found = target.select("SELECT sku, name, _request FROM product")
        assert [tuple(row) for row in found] == [("ab\ufffd", "", "s\ufffd")]

    def test_hostile_and_chinese_names_are_only_names(self, open_again: Open) -> None:
        names = {
            "企业名称": "TEXT", "select": "INT", "占比 (%)": "INT", "a:b": "INT", "%s": "INT",
            "x) VALUES (1, 2": "INT", "? {} ,--": "INT", "企" * 21: "INT",
        }  # fmt: skip
        tables = tables_of(
            {
                "order by %s": {"columns": names, "key": ["企业名称", "占比 (%)"]},
                "表" * 21: {"columns": names},
            }
        )
        target = open_again()
        target.prepare(tables)
        values = {name: 1 for name in names} | {"企业名称": "茶"}
        rows = [Row(table, **values) for table in tables for _ in range(2)]
        for _ in range(2):
            target.write([Brought("s", rows, list(tables), 1, SEEN)])
        count = dict.fromkeys(names, 1)
        assert target.counts() == {
            "order by %s": TableCount(1, count),
            "表" * 21: TableCount(2, dict.fromkeys(names, 2)),
        }
        more = tables_of({"order by %s": {"columns": {"又%": "TEXT"}}}, "x")["order by %s"].columns
        wider = Table("order by %s", {**tables["order by %s"].columns, **more},
                      tables["order by %s"].key)  # fmt: skip
        assert open_again().prepare({wider.name: wider}) == ["column order by %s.又% added"]

    # --- tables ----------------------------------------------------------------------------

    def test_preparing_again_changes_nothing(self, target: Target, open_again: Open) -> None:
        target.write([brought(product("A"), tag("x"))])
        assert open_again().prepare(TABLES) == []
        assert target.counts()["product"].rows == 1

    def test_columns_are_added_and_widened_and_stay(self, target: Target, open_again: Open) -> None:
        target.write([brought(product("A", name="Tee"), tag("x"))])
        columns = {"sku": "VARCHAR(30)", "price": "DECIMAL(14,3)", "stock": "BIGINT", "neu": "DATE"}
        wider = tables_of(
            {
                "product": {"key": ["sku"], "columns": columns},
                "tag": {"columns": {"product": "TEXT", "tag": "TEXT"}},
            }
        )
        again = open_again()
        assert again.prepare(wider) == [
            "column product.sku widened from VARCHAR(20) to VARCHAR(30)",
            "column product.price widened from DECIMAL(10,2) to DECIMAL(14,3)",
            "column product.stock widened from INTEGER to BIGINT",
            "column product.neu added",
            "column tag.tag widened from VARCHAR(5) to TEXT",
        ]
        row = product("B" * 30, price="12345678901.125", stock=2**40, neu="2026-11-17")
        assert again.write([brought(row, tag("z" * 3000), source="b")]).misfits == {}
        found = again.select("SELECT * FROM product ORDER BY sku")
        assert [(each.sku, each.name, each.stock) for each in found] == [
            ("A", "Tee", None),
            ("B" * 30, None, 2**40),
        ]
        assert open_again().prepare(wider) == []

    @pytest.mark.parametrize(
        ("columns", "key", "said"),
        [
            ({"sku": "VARCHAR(10)"}, ["sku"], "is VARCHAR(20) and cannot become VARCHAR(10)"),
            ({"sku": "VARCHAR(20)", "stock": "TEXT"}, ["sku"], "is INTEGER and cannot become TEXT"),
            ({"sku": "VARCHAR(20)"}, [], "the key of table product was sku and is now none"),
        ],
    )
    def test_narrower_columns_and_other_keys_are_refused(
        self, target: Target, open_again: Open, columns: Any, key: Any, said: str
    ) -> None:
        tables = tables_of({"product": {"columns": columns, "key": key}})
        with pytest.raises(UsageError, match="--fresh") as refused:
            open_again().prepare(tables)
        assert said in str(refused.value)
        target.write([brought(product("A" * 20, name="x"))])

    def test_a_table_of_somebody_else_is_not_touched(self, open_again: Open) -> None:
        target = open_again()
        self.run(target, "CREATE TABLE product (sku INTEGER)")
        with pytest.raises(UsageError, match="did not make"):
            target.prepare(TABLES)

    def test_a_lost_table_is_not_made_anew(self, target: Target, open_again: Open) -> None:
        self.run(target, "DROP TABLE tag")
        with pytest.raises(StateDamaged, match="tag"):
            target.write([brought(tag("x"))])
        with pytest.raises(StateDamaged, match="has lost its table 'tag'"):
            open_again().prepare(TABLES)

    def test_a_start_that_was_killed_midway_is_finished(
        self, target: Target, open_again: Open
    ) -> None:
        self.run(target, "DELETE FROM _tables")
        again = open_again()
        assert again.prepare(TABLES) == []
        assert again.counts().keys() == TABLES.keys()

    def run(self, target: Target, statement: str) -> None:
        """As somebody else would."""
        with target._database.transaction() as db:
            db.exec_driver_sql(statement)

    def test_set_aside_and_begun_anew(self, target: Target, open_again: Open) -> None:
        target.write([brought(product("A"), tag("x"))])
        names = {"product": "product_20261117_0530", "tag": "tag_20261117_0530"}
        assert target.set_aside("20261117_0530", TABLES) == names
        assert target.counts() == {} and target.owner() is None
        again = open_again()
        again.prepare(TABLES)
        again.write([brought(product("B"), product("C"), tag("x"))])
        assert again.counts()["product"].rows == 2
        assert again.set_aside("20261117_0530", [*TABLES, "unknown"])["tag"] == (
            "tag_20261117_0530_2"
        )
        assert [row.sku for row in again.select(f"SELECT sku FROM {names['product']}")] == ["A"]

    def test_tables_have_an_owner(self, target: Target, open_again: Open) -> None:
        assert target.owner() is None and open_again().owner(TABLES) is None
        target.claim("harvest 1")
        assert open_again().owner(["tag", "other"]) == "harvest 1" == target.owner()
        assert open_again().owner(["other"]) is None
        target.prepare(TABLES)
        assert target.owner() == "harvest 1"

    # --- transactions and readers ----------------------------------------------------------

    def test_a_write_is_all_or_nothing(self, target: Target) -> None:
        target.write([brought(product("A", name="old"), tag("x"))])
        self.run(target, "DROP TABLE tag")
        with pytest.raises(HarvestError):
            target.write([brought(product("A", name="new"), tag("y"))])
        assert [row.name for row in self.products(target)] == ["old"]

    def test_two_writers_take_turns(self, target: Target, open_again: Open) -> None:
        other = open_again()
        other.prepare(TABLES)
        writers = [
            Thread(target=self.write_many, args=(each, sign))
            for each, sign in ((target, "a"), (other, "b"))
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        counts = target.counts()
        assert (counts["product"].rows, counts["tag"].rows) == (100, 200)

    def write_many(self, target: Target, sign: str) -> None:
        for number in range(50):
            rows = product(f"{sign}{number}"), tag("x"), tag("y")
            target.write([brought(*rows, source=f"{sign}{number}")])

    @pytest.mark.timeout(60)
    def test_killed_amid_a_write_it_holds_whole_transactions(
        self, target: Target, address: str, folder: Path
    ) -> None:
        words = [sys.executable, "-m", "tests.tables.writer", address, str(folder)]
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(3):
                assert writer.stdout.readline() == "written\n"
            writer.kill()
        counts = target.counts()
        products, tags = counts["product"].rows, counts["tag"].rows
        assert products >= 600 and products % 200 == 0 and tags == 2 * products
        assert target.write([brought(product("A"), source="afterwards")]).rows["product"] == 1

    def test_a_visitor_reads_and_cannot_write(
        self, target: Target, address: str, folder: Path
    ) -> None:
        target.write([brought(product("A"))])
        visitor = visit_target(address, folder)
        assert visitor is not None
        with closing(visitor):
            assert visitor.counts()["product"].rows == 1
            assert visitor.select("SELECT sku FROM product WHERE sku = :it", it="A")[0].sku == "A"
            with pytest.raises(HarvestError):
                visitor.select("DELETE FROM product")
            with pytest.raises(StopHarvest, match="was opened to be read only"):
                visitor.prepare(TABLES)
        assert target.counts()["product"].rows == 1

    @pytest.mark.parametrize("sql", ["SELEC 1", "SELECT nothing FROM product", "SELECT :a"])
    def test_a_query_that_is_wrong_is_said_so(self, target: Target, sql: str) -> None:
        with pytest.raises(UsageError, match="does not understand"):
            target.select(sql)

    def test_moments_are_what_the_clock_says(self, target: Target) -> None:
        target.write([brought(product("A"))])
        (found,) = target.select("SELECT _seen FROM product")
        moment = dt.datetime.fromisoformat(str(found._seen)).replace(tzinfo=dt.UTC)
        assert moment.timestamp() == int(SEEN)
