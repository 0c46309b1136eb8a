"""Tables made and extended as they are declared.

Promise: columns are added and widened, never dropped or narrowed; a table that somebody else made
is never touched, and one that was lost is never made anew silently. A start that was killed midway
is finished by the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy import Connection, inspect

from ..errors import StateDamaged, UsageError
from .alteration import Alteration
from .catalogue import CHANGES, LIST, PROBLEMS, Catalogue, Known
from .database import Database
from .datatype import DataType
from .declared import Table
from .making import column_of, make_table
from .names import shortened
from .widening import with_wider

FRESH = "start with --fresh, which keeps the old table under another name"
ARCHIVE = "`structure export {job} --archive {table}` renames the old table"


class Schema:
    """Inside one transaction. `job` is who is told to archive a table."""

    def __init__(self, database: Database, db: Connection, job: str = "NAME") -> None:
        self._database = database
        self._db = db
        self._job = job
        self._catalogue = Catalogue(database, db)
        self._there = set(inspect(db).get_table_names())

    def prepare(self, tables: Iterable[Table]) -> tuple[dict[str, Table], list[str]]:
        """The tables as they are now, and what was changed, a sentence each."""
        tables = list(tables)
        self._make_ours(any(table.own == "document" for table in tables))
        known = self._known()
        prepared, said = {}, []
        for table in tables:
            prepared[table.name], changes = self._prepare(table, known.get(table.name))
            said += changes
        return prepared, said

    def widen(
        self, wider: Mapping[str, Mapping[str, DataType]]
    ) -> tuple[dict[str, Table], list[str]]:
        """As far as nobody else has widened these columns meanwhile."""
        known = self._known()
        tables, said = {}, []
        for name, columns in wider.items():
            if name not in known:
                raise self._lost(Table(name, columns, own="document"))
            before, declared = known[name]
            news = {
                each: new for each, new in columns.items() if not before.columns[each].holds(new)
            }
            after = with_wider(before, news)
            said += [self._widen(after, each, before.columns[each]) for each in news]
            self._catalogue.record(Known(after, declared))
            tables[name] = after
        return tables, said

    def known(self) -> dict[str, Table]:
        """Those that are ours, as they are."""
        return {name: each.table for name, each in self._known().items()}

    def _known(self) -> dict[str, Known]:
        return self._catalogue.known() if LIST.name in self._there else {}

    def owners(self, names: Iterable[str]) -> set[str]:
        return self._catalogue.owners(names) if LIST.name in self._there else set()

    def claim(self, owner: str, names: Iterable[str]) -> None:
        self._catalogue.claim(owner, names)

    def set_aside(self, name: str, stamp: str) -> str | None:
        """Its new name; None if there is none of that name that is ours."""
        table = self.known().get(name)
        if table is None:
            return None
        new = None
        if name in self._there:
            new = self._free(name, stamp)
            self._note(table, f"table {name} renamed to {new}")
            old, other = map(self._database.quoted, (name, new))
            self._db.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {other}")
            self._there = self._there - {name} | {new}
        self._catalogue.forget(name)
        return new

    def _free(self, name: str, stamp: str) -> str:
        new, number = shortened(name, f"_{stamp}"), 1
        while new in self._there:
            number += 1
            new = shortened(name, f"_{stamp}_{number}")
        return new

    # --- one table -------------------------------------------------------------------------

    def _make_ours(self, has_documents: bool) -> None:
        """The tables that we keep about the others."""
        more = [(CHANGES, ""), (PROBLEMS, "document")] if has_documents else []
        for table, source in [(LIST, ""), *more]:
            if table.name not in self._there:
                make_table(self._database, self._db, table, source)
                self._there.add(table.name)

    def _prepare(self, table: Table, known: Known | None) -> tuple[Table, list[str]]:
        if table.name not in self._there:
            if known is not None:
                raise self._lost(table)
            return table, [self._make(table)]
        columns = {each["name"] for each in inspect(self._db).get_columns(table.name)}
        if not columns >= table.own_columns.keys():
            raise UsageError(
                f"{self._database.name} has a table {table.name!r} that Sheaf did not make: rename "
                "one of the two"
            )
        return self._extend(table, known or Known(table, table.columns), columns)

    def _lost(self, table: Table) -> StateDamaged:
        remedy = "start with --fresh" if table.own == "request" else self._remedy(table)
        return StateDamaged(
            f"{self._database.name} has lost its table {table.name!r}: bring it back, or {remedy}"
        )

    def _make(self, table: Table) -> str:
        said = f"table {table.name} made"
        self._note(table, said)
        has_index = table.own == "document" or not table.key
        make_table(self._database, self._db, table, table.source_column if has_index else "")
        self._there.add(table.name)
        self._catalogue.record(Known(table, table.columns))
        return said

    def _extend(self, table: Table, known: Known, there: set[str]) -> tuple[Table, list[str]]:
        before, declared = known
        self._check_key(table, before)
        columns, said = {}, []
        for name, wanted in table.columns.items():
            columns[name] = wanted
            if name not in there:
                said.append(self._add(table, name))
                continue
            old = before.columns.get(name, wanted)
            columns[name] = self._grown(table, name, old, declared.get(name, wanted))
            if columns[name] != old:
                said.append(self._widen(table, name, old))
        now = replace(table, columns=columns)  # some may be wider than declared
        if table.own == "document":
            remedy = self._remedy(table)
            said += Alteration(self._database, self._db, self._note, remedy)(now, before)
        lost = {name: each for name, each in before.options.items() if name not in columns}
        whole = replace(
            now, columns={**before.columns, **columns}, options={**lost, **table.options}
        )
        self._catalogue.record(Known(whole, {**declared, **table.columns}))
        return now, said

    def _grown(self, table: Table, name: str, old: DataType, declared: DataType) -> DataType:
        """The type a column gets: at least as wide as it is, values may have widened it."""
        wanted = table.columns[name]
        if wanted.holds(declared):
            if old.holds(wanted):
                return old
            if wanted.holds(old):
                return wanted
        raise UsageError(
            f"column {table.name}.{name} is {old} and cannot become {wanted}: {self._remedy(table)}"
        )

    def _check_key(self, table: Table, before: Table) -> None:
        if table.key != before.key:
            was, now = (", ".join(each.key) or "none" for each in (before, table))
            remedy = self._remedy(table)
            raise UsageError(f"the key of table {table.name} was {was} and is now {now}: {remedy}")

    def _remedy(self, table: Table) -> str:
        if table.own == "request":
            return FRESH
        return ARCHIVE.format(job=self._job, table=table.name)

    def _widen(self, table: Table, name: str, old: DataType) -> str:
        said = f"column {table.name}.{name} widened from {old} to {table.columns[name]}"
        self._note(table, said)
        self._database.widen(self._db, table.name, column_of(self._database, table, name))
        return said

    def _add(self, table: Table, name: str) -> str:
        """The rows that are there have nothing in it, whatever its DEFAULT."""
        said = f"column {table.name}.{name} added"
        self._note(table, said)
        kind = self._database.compiled(table.columns[name])
        place, column = map(self._database.quoted, (table.name, name))
        self._db.exec_driver_sql(f"ALTER TABLE {place} ADD COLUMN {column} {kind}")
        return said

    def _note(self, table: Table, change: str) -> None:
        if table.own == "document":
            self._catalogue.note(table.name, change)
