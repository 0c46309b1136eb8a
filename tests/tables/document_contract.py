"""What every database promises of tables that documents fill. A test subclasses this."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.tables.target_contract import Open
from tools.tables.datatype import datatype
from tools.tables.declared import Option, Table, checked
from tools.tables.rows import MISSING, Extract
from tools.tables.target import Target

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


def _alike(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes | int):
        return value
    if isinstance(value, Decimal | float):
        return Decimal(str(value)).normalize()
    return str(value)
