"""The database that declared tables are in, and how rows get into it.

Promise: what one request gave is stored once, however often it is written; a write is one
transaction, all or nothing. A server that is away is `Unavailable` and spends nobody's attempt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Row as SqlRow
from sqlalchemy import text

from ..base import extras
from ..base.credentials import one_secret
from ..base.text import clipped, one_line
from ..errors import Unavailable, Unreachable, UsageError
from .address import PASSWORD_VARIABLE, is_mysql, is_postgres, sqlite_path
from .batch import portions
from .database import Database
from .datatype import DataType
from .declared import Table
from .exchange import replace_problems, replace_rows
from .listing import Listing, listed
from .replacement import Replacer
from .rows import Brought, Extract, Problem, Replaced, TableCount, TooLong, Written
from .schema import Schema

QUESTION = re.compile(
    r"(?:[\s(]|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|WITH|VALUES|EXPLAIN)\b", re.I | re.S
)
OTHERS = "postgresql://user@host/db or mysql://user@host/db"


def open_target(
    url: str, folder: Path, password_file: Path | None = None, password: str | None = None
) -> Target:
    """Ready to be written; a file is made if it is not there yet, in `folder` unless it says. A
    password of the environment or of `password_file` goes before `password`."""
    return _target(_database(url, folder, password_file, password, True))


def visit_target(
    url: str, folder: Path, password_file: Path | None = None, password: str | None = None
) -> Target | None:
    """To be read, while somebody else may be writing; None if there is no such file."""
    if not (is_postgres(url) or is_mysql(url)) and not sqlite_path(url, folder, OTHERS).exists():
        return None
    return _target(_database(url, folder, password_file, password, False))


def _database(
    url: str, folder: Path, password_file: Path | None, password: str | None, writable: bool
) -> Database:
    """A driver is imported only by those who use it."""
    if not (is_postgres(url) or is_mysql(url)):
        from .sqlite import SqliteDatabase

        return SqliteDatabase(sqlite_path(url, folder, OTHERS), writable)
    password = one_secret(PASSWORD_VARIABLE, password_file) or password or ""
    with extras.named():
        if is_postgres(url):
            from .postgres import PostgresDatabase

            return PostgresDatabase(url, password, writable)
        from .mysql import MysqlDatabase

        return MysqlDatabase(url, password, writable)


def _target(database: Database) -> Target:
    try:
        database.try_out()
        return Target(database)
    except BaseException as error:
        database.close()
        if isinstance(error, Unavailable):
            raise Unreachable(str(error)) from error
        raise


class Target:
    def __init__(self, database: Database) -> None:
        self.name = database.name
        self._database = database
        self._tables: dict[str, Table] = {}
        self._replacer = Replacer({})

    def prepare(self, tables: Mapping[str, Table], job: str = "NAME") -> list[str]:
        """They are there as declared: made, or with columns added and widened. What was changed, a
        sentence each. `job` is whose command sets a table of documents aside."""
        with self._database.transaction() as db:
            prepared, said = Schema(self._database, db, job).prepare(tables.values())
        self._know(prepared)
        return said

    def _know(self, tables: Mapping[str, Table]) -> None:
        """Anew, not changed: others may be reading the ones before."""
        self._tables = {**self._tables, **tables}
        self._replacer = Replacer(self._tables)

    def write(self, brought: Sequence[Brought]) -> Written:
        """All or nothing; only into tables that were prepared."""
        misfits: Counter[str] = Counter()
        found = portions(brought, self._tables, misfits)
        with self._database.transaction() as db:
            for table, sources, rows in found:
                if sources:
                    self._database.forget(db, table.name, table.source_column, sources)
                if rows:
                    self._database.put(db, table, rows)
        return Written({each.table.name: len(each.rows) for each in found}, dict(misfits))

    def replace(self, extracts: Sequence[Extract], too_long: TooLong = "widen") -> Replaced:
        """The documents have these rows and no others, and these problems. All or nothing, except
        that a column stays wide. Raises GiveUp if a row is like another that must be unique."""
        new = self._replacer(extracts, too_long)
        changes = self._widen(new.wider) if new.wider else []
        with self._database.transaction() as db:
            for table, documents, rows in new.portions:
                replace_rows(self._database, db, table, documents, rows)
            replace_problems(self._database, db, self._tables, new.documents, new.problems)
        return Replaced(new.rows, new.problems, changes)

    def problems_of(self, extract: Extract, too_long: TooLong = "widen") -> list[Problem]:
        """That it would have; raises GiveUp as `replace` does. Asks no database."""
        return self._replacer([extract], too_long).problems

    def _widen(self, wider: Mapping[str, Mapping[str, DataType]]) -> list[str]:
        """In a transaction before that of the rows: MariaDB ends one by changing a table."""
        with self._database.transaction() as db:
            widened, said = Schema(self._database, db).widen(wider)
        self._know(
            {
                name: replace(
                    table, columns={each: widened[name].columns[each] for each in table.columns}
                )
                for name, table in self._tables.items()
                if name in widened
            }
        )
        return said

    def select(self, sql: str, **values: object) -> list[SqlRow[Any]]:
        """Rows whose columns are attributes: `row.sku`. Values stand in it as `:name`; nothing can
        be changed this way, and no other file opened."""
        if not QUESTION.match(sql):
            said = clipped(one_line(sql), 90)
            hint = "it must begin with SELECT"
            raise UsageError(f"{self.name} does not understand {said!r}: {hint}")
        with self._database.reading() as db, self._database.understood(sql):
            return list(db.execute(text(sql), values))

    def counts(
        self, names: Iterable[str] | None = None, activity: int | None = None
    ) -> dict[str, TableCount]:
        """Of the tables that were prepared; without any, of all that are ours. With `activity` only
        rows that were stored last by that one."""
        with self._database.reading() as db:
            known = Schema(self._database, db).known()
            wanted = (self._tables or known) if names is None else names
            return {
                name: self._count(db, known[name], activity) for name in wanted if name in known
            }

    def _count(self, db: Any, table: Table, activity: int | None) -> TableCount:
        columns = [f"COUNT({self._database.quoted(name)})" for name in table.columns]
        table_name = self._database.quoted(table.name)
        some = "" if activity is None else f" WHERE _activity = {activity:d}"
        statement = f"SELECT COUNT(*), {', '.join(columns)} FROM {table_name}{some}"
        rows, *filled = db.exec_driver_sql(statement).one()
        return TableCount(rows, dict(zip(table.columns, filled, strict=True)))

    def known(self, names: Iterable[str]) -> list[str]:
        """Which of these are there, and ours."""
        with self._database.reading() as db:
            known = Schema(self._database, db).known()
        return [name for name in names if name in known]

    def listing(self, name: str, after: str, most: int) -> Listing | None:
        """So many rows of one of our tables, behind a place; None if there is none of that name."""
        with self._database.reading() as db:
            table = Schema(self._database, db).known().get(name)
            return None if table is None else listed(self._database, db, table, after, most)

    def doubled(self, name: str) -> int:
        """How many rows of a table without a key are there from two sources or more."""
        with self._database.reading() as db:
            table = Schema(self._database, db).known()[name]
            columns = ", ".join(map(self._database.quoted, table.columns))
            alike = (
                f"SELECT COUNT(*) AS n FROM {self._database.quoted(name)} GROUP BY {columns} "
                "HAVING COUNT(DISTINCT _request) > 1"
            )
            statement = f"SELECT COALESCE(SUM(n), 0) FROM ({alike}) AS alike"
            return int(db.exec_driver_sql(statement).scalar_one())

    def set_aside(self, stamp: str, names: Iterable[str]) -> dict[str, str]:
        """Tables that are ours get the name T_stamp and are nobody's any more. Old names to new."""
        with self._database.transaction() as db:
            schema = Schema(self._database, db)
            moved = {name: schema.set_aside(name, stamp) for name in list(names)}
        self._tables = {name: each for name, each in self._tables.items() if name not in moved}
        self._replacer = Replacer(self._tables)
        return {name: new for name, new in moved.items() if new}

    def claim(self, owner: str, names: Iterable[str] | None = None) -> None:
        """The tables (those that were prepared) belong to this harvest."""
        with self._database.transaction() as db:
            Schema(self._database, db).claim(owner, list(self._tables if names is None else names))

    def owner(self, names: Iterable[str] | None = None) -> str | None:
        """To whom the tables (those that were prepared) belong; of several, one."""
        with self._database.reading() as db:
            schema = Schema(self._database, db)
            return min(schema.owners(self._tables if names is None else names), default=None)

    def close(self) -> None:
        self._database.close()
