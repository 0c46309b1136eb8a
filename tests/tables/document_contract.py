"""What every database promises of tables that documents fill. A test subclasses this."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import inspect

from tests.tables.target_contract import Open
from tools.errors import GiveUp, HarvestError, UsageError
from tools.tables.datatype import datatype
from tools.tables.declared import Option, Table, checked
from tools.tables.rows import MISSING, Extract, Problem
from tools.tables.target import Target

HOSTILE = [
    "'); DROP TABLE person; --",
    'x"y`z\\\\\\',
    "\\N",
    "\\.",
    "a\tb\nc\rd",
    "%s %(a)s :b ? {} %%",
    "茶😀 a\0b \ud800 '' ' \\'",
]
REQUIRED = Option(is_required=True)


def table(
    name: str, columns: dict[str, str], *key: str, options: dict[str, Option] | None = None
) -> Table:
    types = {column: datatype(each) for column, each in columns.items()}
    return checked(Table(name, types, key, options=options or {}, own="document"), "test")


def by_name(*tables: Table) -> dict[str, Table]:
    return {each.name: each for each in tables}


TABLES = by_name(
    table(
        "company",
        {"code": "VARCHAR(8)", "name": "VARCHAR(20)", "founded": "DATE", "capital": "BIGINT"},
        options={"code": REQUIRED, "capital": Option(default="0", has_default=True)},
    ),
    table("person", {"code": "VARCHAR(8)", "seq": "INT", "name": "TEXT"}),
)
COMPANY = ("91A", "茶业", "2013年12月18日", "5,000,000")


def extract(document: str = "a.html", **rows: list[tuple[Any, ...]]) -> Extract:
    return Extract(document, rows, ["company", "person"])


def people(*names: Any, document: str = "a.html") -> Extract:
    return extract(document, person=[("91A", at, name) for at, name in enumerate(names)])


class DocumentContract:
    """Beside a TargetContract, whose fixtures it uses."""

    @pytest.fixture
    def documents(self, open_again: Open) -> Target:
        target = open_again()
        target.prepare(TABLES)
        return target

    def rows(self, target: Target, name: str, *columns: str) -> list[tuple[Any, ...]]:
        """As texts and numbers that are alike on all databases, in order."""
        wanted = [*(columns or TABLES[name].columns), "_document", "_row"]
        said = ", ".join(map(target._database.quoted, wanted))
        place = target._database.quoted(name)
        with target._database.reading() as db:
            found = db.exec_driver_sql(f"SELECT {said} FROM {place} ORDER BY _document, _row")
            return [tuple(map(_alike, row)) for row in found]

    def problems(self, target: Target) -> list[tuple[Any, ...]]:
        quoted = map(
            target._database.quoted, ("table", "document", "row", "column", "value", "why")
        )
        with target._database.reading() as db:
            found = db.exec_driver_sql(f"SELECT {', '.join(quoted)} FROM _problems")
            return sorted(map(tuple, found))

    def changes(self, target: Target) -> list[str]:
        rows = target.select("SELECT * FROM _schema_changes ORDER BY at")
        assert all(str(row.at).startswith("20") for row in rows)
        return [row.change for row in rows]

    # --- rows ------------------------------------------------------------------------------

    def test_the_rows_of_documents_are_stored(self, documents: Target) -> None:
        done = documents.replace(
            [
                extract(
                    "a.html", company=[COMPANY], person=[("91A", "1", "王芳"), ("91A", 2, 3.5)]
                ),
                extract("b.html", company=[("91B", MISSING, MISSING, "")]),
            ]
        )
        assert (done.rows, done.problems, done.changes) == ([3, 1], [], [])
        assert self.rows(documents, "company") == [
            ("91A", "茶业", "2013-12-18", 5_000_000, "a.html", 0),
            ("91B", "", None, 0, "b.html", 0),
        ]
        assert self.rows(documents, "person") == [
            ("91A", 1, "王芳", "a.html", 0),
            ("91A", 2, "3.5", "a.html", 1),
        ]

    def test_replaced_twice_they_are_the_same(self, documents: Target) -> None:
        many = [people("x", "y", document=f"{each}") for each in range(1200)]
        for _ in range(2):
            done = documents.replace(many)
            assert done.rows == [2] * 1200
            found = self.rows(documents, "person")
            assert len(found) == 2400 and len(set(found)) == 2400

    def test_a_newer_version_with_fewer_rows(self, documents: Target) -> None:
        documents.replace([people("x", "y", "z"), people("v", document="b.html")])
        documents.replace([people("w")])
        assert [row[2] for row in self.rows(documents, "person")] == ["w", "v"]
        assert documents.replace([extract()]).rows == [0]
        assert [row[2] for row in self.rows(documents, "person")] == ["v"]

    def test_tables_it_may_not_fill_are_left_alone(self, documents: Target) -> None:
        documents.replace([extract(company=[COMPANY], person=[("91A", 1, "x")])])
        documents.replace([Extract("a.html", {"person": []}, ["person"])])
        assert len(self.rows(documents, "company")) == 1
        assert self.rows(documents, "person") == []

    def test_of_a_document_that_came_twice_the_last_counts(self, documents: Target) -> None:
        done = documents.replace([people("x", "y"), people("z")])
        assert done.rows == [0, 1]
        assert [row[2] for row in self.rows(documents, "person")] == ["z"]

    def test_by_key_a_row_is_taken_over(self, open_again: Open) -> None:
        target = open_again()
        target.prepare(by_name(table("t", {"id": "VARCHAR(9)", "n": "INT"}, "id")))

        def put(document: str, *rows: tuple[Any, ...]) -> None:
            target.replace([Extract(document, {"t": rows}, ["t"])])

        put("a", ("1", 1), ("2", 2), ("2", 3))
        assert self.rows(target, "t", "id", "n") == [("1", 1, "a", 0), ("2", 3, "a", 2)]
        put("b", ("2", 4), (MISSING, 5))
        assert self.rows(target, "t", "id", "n") == [("1", 1, "a", 0), ("2", 4, "b", 0)]
        why = "nothing, and the column is part of the key: the row is left out"
        assert self.problems(target) == [("t", "b", 1, "id", None, why)]
        put("a", ("1", 6))
        assert self.rows(target, "t", "id", "n") == [("1", 6, "a", 0), ("2", 4, "b", 0)]

    # --- values ----------------------------------------------------------------------------

    def test_what_does_not_fit_is_nothing_and_a_problem(self, documents: Target) -> None:
        rows = [("91A", "24人", "x"), ("91A", 2.5, None), ("91A", [1], {"茶": [1, None]})]
        done = documents.replace([extract(company=[("91A", 5, "soon", "9" * 30)], person=rows)])
        assert self.rows(documents, "company") == [("91A", "5", None, None, "a.html", 0)]
        assert [row[1:3] for row in self.rows(documents, "person")] == [
            (None, "x"),
            (None, None),
            (None, '{"茶": [1, null]}'),
        ]
        expected = [
            ("company", "a.html", 0, "capital", "9" * 30, "too large for BIGINT"),
            ("company", "a.html", 0, "founded", "soon", "'soon' is no date"),
            ("person", "a.html", 0, "seq", "24人", "'24人' is no whole number"),
            ("person", "a.html", 1, "seq", "2.5", "2.5 is no whole number"),
            ("person", "a.html", 2, "seq", "[1]", "[1] is no whole number"),
        ]
        assert self.problems(documents) == sorted(map(tuple, done.problems)) == expected
        assert documents.replace([people("x")]).problems == [] == self.problems(documents)

    def test_problems_are_told_without_a_database(self, documents: Target) -> None:
        bad = extract(person=[("91A", "24人", "x")])
        (problem,) = documents.problems_of(bad)
        assert problem == Problem("person", "a.html", 0, "seq", "24人", "'24人' is no whole number")
        assert self.problems(documents) == [] == documents.problems_of(people("x"))

    def test_problems_of_other_tables_stay(self, documents: Target, open_again: Open) -> None:
        other = open_again()
        other.prepare(by_name(table("t", {"n": "INT"})))
        other.replace([Extract("a.html", {"t": [("x",)]}, ["t"])])
        documents.replace([people("x")])
        assert [row[:2] for row in self.problems(documents)] == [("t", "a.html")]

    def test_a_row_without_what_it_must_have_is_left_out(self, documents: Target) -> None:
        rows = [(None, "x", None, 1), ("91A", "y", None, None), (MISSING, "z", None, 2)]
        done = documents.replace([extract(company=rows)])
        assert done.rows == [2]
        assert self.rows(documents, "company", "code", "capital") == [
            ("91A", 0, "a.html", 1),
            ("", 2, "a.html", 2),
        ]
        why = "nothing, and the column is NOT NULL: the row is left out"
        assert self.problems(documents) == [("company", "a.html", 0, "code", None, why)]

    def test_what_is_too_long_widens_its_column(self, documents: Target, open_again: Open) -> None:
        long = "茶" * 21
        done = documents.replace([extract(company=[("91A", long, None, 0)])])
        changed = "column company.name widened from VARCHAR(20) to VARCHAR(40)"
        assert (done.changes, done.problems) == ([changed], [])
        assert self.rows(documents, "company", "name") == [(long, "a.html", 0)]
        assert documents.replace([extract(company=[("91A", long, None, 0)])]).changes == []
        again = open_again()
        assert again.prepare(TABLES) == []
        huge, large = "x" * 20_000, 2**31
        done = again.replace(
            [extract(company=[("1" * 9, huge, None, 1)], person=[("91A", large, "x")])]
        )
        assert done.changes == [
            "column company.code widened from VARCHAR(8) to VARCHAR(16)",
            "column company.name widened from VARCHAR(40) to TEXT",
            "column person.seq widened from INTEGER to BIGINT",
        ]
        # whoever still takes it for a short one narrows nothing
        done = documents.replace([extract("b", company=[("1" * 9, "y" * 41, None, 1)])])
        assert (done.changes, done.problems) == ([], [])
        assert self.rows(again, "company", "code", "name") == [
            ("1" * 9, huge, "a.html", 0),
            ("1" * 9, "y" * 41, "b", 0),
        ]
        made = ["table company made", "table person made", changed]
        assert sorted(self.changes(again)) == sorted([*made, *done_changes()])
        assert self.is_required(again, "company", "code")

    def is_required(self, target: Target, name: str, column: str) -> bool:
        with target._database.reading() as db:
            columns = inspect(db).get_columns(name)
        return not next(each["nullable"] for each in columns if each["name"] == column)

    def test_what_is_too_long_is_cut(self, documents: Target) -> None:
        done = documents.replace([extract(company=[("91A", "茶" * 21, None, 0)])], "cut")
        assert self.rows(documents, "company", "name") == [("茶" * 20, "a.html", 0)]
        (problem,) = done.problems
        assert (problem.value, problem.why) == ("茶" * 21, "too long: 21 of 20 characters")
        assert done.changes == [] and len(self.problems(documents)) == 1

    def test_what_is_too_long_fails(self, documents: Target) -> None:
        documents.replace([people("x")])
        long = extract(company=[("91A", "茶" * 21, None, 0)])
        for fails in (lambda: documents.replace([long], "fail"),
                      lambda: documents.problems_of(long, "fail")):  # fmt: skip
            with pytest.raises(GiveUp, match=r"company\.name: too long: 21 of 20 characters"):
                fails()
        assert len(self.rows(documents, "person")) == 1

    def test_a_key_grows_as_far_as_an_index_takes_it(self, open_again: Open) -> None:
        target = open_again()
        target.prepare(by_name(table("t", {"a": "VARCHAR(9)", "b": "INT"}, "a", "b")))
        rows = [("x" * 675, 1), ("x" * 676, 2)]
        done = target.replace([Extract("d", {"t": rows}, ["t"])])
        assert done.changes == ["column t.a widened from VARCHAR(9) to VARCHAR(675)"]
        assert done.rows == [1]
        (problem,) = done.problems
        assert problem.why == "too long: 676 of 675 characters: the row is left out"
        done = target.replace([Extract("d", {"t": [("y" * 676, 1)]}, ["t"])], "cut")
        assert (done.rows, len(done.problems)) == ([0], 1)  # cut, it might be another's key

    def test_every_type_is_the_same_everywhere(self, open_again: Open) -> None:
        kinds = [
            *("CHAR(3)", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "TINYINT", "SMALLINT", "BIGINT"),
            *("INTEGER", "FLOAT", "DOUBLE", "REAL", "NUMERIC(8,3)", "DATE", "DATETIME"),
            *("TIMESTAMP", "TIME", "BOOL", "JSON", "BLOB", "INT UNSIGNED", "BIGINT UNSIGNED"),
            "DECIMAL(6,2) UNSIGNED",
        ]
        values = [
            *("a ", True, 5, ["茶"], "24", " 24 ", str(2**63 - 1), "-1,234"),
            *(0.1, "1e3", "2.5", "1,234.5005", "2013/2/8", "2013-02-08T23:00:00+08:00"),
            *("2013年2月8日", "10:30", "yes", {"a": None}, "b\0\ud800", 2**32 - 1, 2**63 - 1),
            "1,234.50",
        ]
        target = open_again()
        target.prepare(by_name(table("t", {f"c{n:02}": kind for n, kind in enumerate(kinds)})))
        done = target.replace([Extract("d", {"t": [tuple(values)]}, ["t"])])
        assert done.problems == []
        (found,) = self.rows(target, "t", *(f"c{n:02}" for n in range(len(kinds))))
        moments = [str(each) for each in found[13:15]]
        assert found[:13] == (
            *("a ", "true", "5", '["茶"]', 24, 24, 2**63 - 1, -1234),
            *(Decimal("0.1"), Decimal(1000), Decimal("2.5"), Decimal("1234.501"), "2013-02-08"),
        )
        assert [each[:19] for each in moments] == ["2013-02-08 15:00:00", "2013-02-08 00:00:00"]
        assert (str(found[15])[-8:], bool(found[16])) == ("10:30:00", True)
        assert str(found[17]).replace("'", '"').replace("None", "null") == '{"a": null}'
        assert bytes(found[18]) == b"b\x00\xed\xa0\x80"
        assert found[19:22] == (2**32 - 1, 2**63 - 1, Decimal("1234.5"))

    def test_what_is_unsigned_is_not_negative(self, open_again: Open) -> None:
        target = open_again()
        unsigned = Option(is_unsigned=True)
        columns = {"a": "INT", "b": "DECIMAL(6,2)", "c": "DOUBLE"}
        tables = by_name(table("t", columns, options=dict.fromkeys(columns, unsigned)))
        target.prepare(tables)
        done = target.replace([Extract("d", {"t": [(-1, "-1", -1.0), (2**32 - 1, 1, 1)]}, ["t"])])
        assert [each.why for each in done.problems] == [
            "negative, and the column is INTEGER UNSIGNED",
            "negative, and the column is DECIMAL(6,2) UNSIGNED",
            "negative, and the column is DOUBLE UNSIGNED",
        ]
        assert target.prepare(tables) == []
        assert self.rows(target, "t", *columns)[1] == (2**32 - 1, 1, 1, "d", 1)

    def test_hostile_documents_are_only_values(self, documents: Target) -> None:
        stored = sorted(text.replace("\0", "").replace("\ud800", "\ufffd") for text in HOSTILE)
        many = [extract(text, person=[("91A", text, text)]) for text in HOSTILE]
        for _ in range(2):
            assert documents.replace(many).rows == [1] * len(many)
            found = self.rows(documents, "person", "name")
            assert sorted(found) == [(text, text, 0) for text in stored]
            problems = [
                (document, value) for _, document, _, _, value, _ in self.problems(documents)
            ]
            assert problems == [(text, text) for text in stored]
        documents.replace([extract(text) for text in HOSTILE])
        assert self.rows(documents, "person") == [] == self.problems(documents)

    def test_hostile_words_of_the_mapping_are_only_words(self, open_again: Open) -> None:
        names = ["企业名称", "select", "占比 (%)", "a:b", "%s", "x) VALUES (1, 2", "? {} ,--"]
        words = dict(zip(names, HOSTILE, strict=False))
        options = {
            name: Option(default=word, has_default=True, comment=word)
            for name, word in words.items()
        }
        hostile = table("drop table %s", dict.fromkeys(names, "VARCHAR(60)"), options=options)
        target = open_again()
        target.prepare(by_name(hostile))
        target.replace([Extract("d", {hostile.name: [(MISSING,) * 7]}, [hostile.name])])
        stored = [words[name].replace("\0", "").replace("\ud800", "\ufffd") for name in names]
        assert self.rows(target, hostile.name, *names) == [(*stored, "d", 0)]
        with target._database.transaction() as db:  # as somebody else would
            place = target._database.quoted(hostile.name)
            db.exec_driver_sql(f"INSERT INTO {place} (_document, _row) VALUES ('e', 0)")
        assert self.rows(target, hostile.name, *names)[1] == (*stored, "e", 0)
        wide = "w" * 61
        target.replace([Extract("d", {hostile.name: [(wide,) * 7]}, [hostile.name])])
        assert self.rows(target, hostile.name, *names)[0] == (*[wide] * 7, "d", 0)
        if target._database.dialect.name != "sqlite":
            with target._database.reading() as db:
                columns = inspect(db).get_columns(hostile.name)[: len(names)]
            beyond = "?" if target._database.dialect.name == "mysql" else "😀"
            assert [each.get("comment") for each in columns] == [
                each.replace("😀", beyond) for each in stored
            ]

    # --- options ---------------------------------------------------------------------------

    def test_what_must_be_unique_fails_alone(self, open_again: Open) -> None:
        target = open_again()
        unique = {"code": Option(is_unique=True)}
        for name, key in (("t", ()), ("keyed", ("n",))):
            target.prepare(by_name(table(name, {"n": "INT", "code": "TEXT"}, *key, options=unique)))
            some = [Extract(each, {name: [(at, each)]}, [name]) for at, each in enumerate("ab")]
            target.replace(some)
            target.replace(some)
            like = Extract("c", {name: [(7, "a")]}, [name])
            with pytest.raises(GiveUp):
                target.replace([like, some[0]])
            assert self.rows(target, name, "n", "code") == [(0, "a", "a", 0), (1, "b", "b", 0)]
            nothing = [
                Extract(each, {name: [(8 + at, MISSING)]}, [name]) for at, each in enumerate("de")
            ]
            target.replace(nothing)
            assert len(self.rows(target, name, "n")) == 4

    def test_rows_are_counted_and_keep_their_numbers(self, open_again: Open) -> None:
        target = open_again()
        counted = {"id": Option(is_counted=True)}
        target.prepare(by_name(table("t", {"id": "INT", "n": "INT"}, "id", options=counted)))

        def put(**documents: list[Any]) -> list[Any]:
            target.replace(
                [
                    Extract(name, {"t": [(MISSING, each) for each in values]}, ["t"])
                    for name, values in documents.items()
                ]
            )
            return self.rows(target, "t", "id", "n")

        first = put(a=[5, 6], b=[7])
        assert first == [(1, 5, "a", 0), (2, 6, "a", 1), (3, 7, "b", 0)] == put(a=[5, 6], b=[7])
        assert put(a=[5]) == [(1, 5, "a", 0), (3, 7, "b", 0)]
        assert put(c=[8], a=[5, 9])[1:] == [(5, 9, "a", 1), (3, 7, "b", 0), (4, 8, "c", 0)]
        target.replace([Extract("d", {"t": [(40, 1), (None, 2)]}, ["t"])])
        assert self.rows(target, "t", "id", "n")[-2:] == [(40, 1, "d", 0), (41, 2, "d", 1)]

    # --- tables ----------------------------------------------------------------------------

    def test_columns_are_gained_lost_and_widened(self, documents: Target, open_again: Open) -> None:
        documents.replace([extract(company=[COMPANY], person=[("91A", 1, "x")])])
        seven = Option(default=7, has_default=True, is_required=True)
        changed = by_name(
            table("company", {"name": "VARCHAR(50)", "n": "INT"}, options={"n": seven}),
            table("person", {"code": "TEXT", "seq": "BIGINT", "name": "TEXT"}),
        )
        again = open_again()
        said = again.prepare(changed)
        assert said == [
            "column company.name widened from VARCHAR(20) to VARCHAR(50)",
            "column company.n added",
            "column company.code may be NULL",
            "column person.code widened from VARCHAR(8) to TEXT",
            "column person.seq widened from INTEGER to BIGINT",
        ]
        assert open_again().prepare(changed) == []
        assert {*said} < {*self.changes(again)}
        assert self.rows(again, "company", "code", "n") == [("91A", None, "a.html", 0)]
        again.replace([extract("b", company=[("y", MISSING)], person=[("91A", 2**40, "x")])])
        assert self.rows(again, "company", "code", "name", "n", "founded") == [
            ("91A", "茶业", None, "2013-12-18", "a.html", 0),
            (None, "y", 7, None, "b", 0),
        ]
        assert again.replace([extract("a.html", company=[("y", 8)])]).rows == [1]
        assert documents.prepare(TABLES | changed) == []

    @pytest.mark.parametrize(
        ("columns", "key", "said"),
        [
            ({"code": "VARCHAR(7)"}, [], "company.code is VARCHAR(8) and cannot become VARCHAR(7)"),
            ({"founded": "TEXT"}, [], "company.founded is DATE and cannot become TEXT"),
            ({"capital": "INT"}, [], "company.capital is BIGINT and cannot become INTEGER"),
            ({"code": "TEXT"}, ["code"], "the key of table company was none and is now code"),
        ],
    )
    def test_what_would_be_narrower_is_refused(
        self, documents: Target, open_again: Open, columns: Any, key: Any, said: str
    ) -> None:
        with pytest.raises(UsageError) as refused:
            open_again().prepare(by_name(table("company", columns, *key)), job="register")
        remedy = "`structure export register --archive company` renames the old table"
        assert said in str(refused.value) and remedy in str(refused.value)
        assert documents.set_aside("20261117", ["company"]) == {"company": "company_20261117"}
        again = open_again()
        again.prepare(by_name(table("company", columns, *key)))
        assert "table company renamed to company_20261117" in self.changes(again)

    def test_options_change(self, documents: Target, open_again: Open) -> None:
        documents.replace([extract(company=[COMPANY])])

        def changed(**options: Option) -> list[str]:
            columns = {name: str(each) for name, each in TABLES["company"].columns.items()}
            new = by_name(table("company", columns, options=options))
            return [*open_again().prepare(new), *open_again().prepare(new)]

        assert changed(code=Option(is_unique=True, is_required=True)) == [
            "column company.code made UNIQUE",
            "column company.capital has another DEFAULT",
        ]
        assert changed(name=REQUIRED, code=Option(is_unique=True)) == [
            "column company.code may be NULL",
            "column company.name NOT NULL in rows to come",
        ]
        assert changed() == [
            "column company.code no longer UNIQUE",
        ]
        documents.replace([extract("b", company=[COMPANY]), extract("c", company=[COMPANY])])
        with pytest.raises(UsageError, match=r"--archive company"):
            changed(code=Option(is_unique=True))

    def test_a_start_that_was_killed_amid_a_table_is_finished(
        self, documents: Target, open_again: Open
    ) -> None:
        with documents._database.transaction() as db:
            (index,) = inspect(db).get_indexes("person")
            on = " ON person" if documents._database.dialect.name == "mysql" else ""
            db.exec_driver_sql(f"DROP INDEX {index['name']}{on}")
            db.exec_driver_sql("DELETE FROM _tables")
        again = open_again()
        assert again.prepare(TABLES) == []
        with again._database.reading() as db:
            (index,) = inspect(db).get_indexes("person")
        assert index["column_names"] == ["_document"]

    def test_a_table_of_requests_is_another(self, target: Target) -> None:
        with pytest.raises(UsageError, match="did not make"):
            target.prepare(by_name(table("tag", {"tag": "TEXT"})))

    def test_what_is_written_is_all_or_nothing(self, documents: Target) -> None:
        documents.replace([people("x")])
        with documents._database.transaction() as db:
            db.exec_driver_sql("DROP TABLE _problems")
        with pytest.raises(HarvestError):
            documents.replace([people("y")])
        assert [row[2] for row in self.rows(documents, "person")] == ["x"]


def done_changes() -> list[str]:
    return [
        "column company.code widened from VARCHAR(8) to VARCHAR(16)",
        "column company.name widened from VARCHAR(40) to TEXT",
        "column person.seq widened from INTEGER to BIGINT",
    ]


def _alike(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes | int):
        return value
    if isinstance(value, Decimal | float):
        return Decimal(str(value)).normalize()
    return str(value)
