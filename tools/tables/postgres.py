"""Tables in PostgreSQL, and what everything here that speaks to PostgreSQL shares.

Promise: a server that goes away is `Unavailable`; when it is back the next call connects anew. Each
wait has a deadline, of which the server is told, too. Limit: whether a commit was made that was cut
off nobody knows; the same again changes nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Column, Connection, Engine, Index, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import SetColumnComment

from ..base.credentials import hidden
from ..errors import GiveUp, HarvestError, StateDamaged, StopHarvest, Unavailable, UsageError
from .address import refuse_password
from .copied import copied
from .database import READERS, Among, Database
from .datatype import DataType
from .declared import Table

CONNECT_S = 10
STATEMENT_S = 300
OPTIONS = (
    f"-c statement_timeout={STATEMENT_S}s -c lock_timeout=60s "
    f"-c idle_in_transaction_session_timeout={STATEMENT_S}s -c client_min_messages=warning"
)
SETTINGS: dict[str, Any] = {
    "connect_timeout": CONNECT_S,
    "tcp_user_timeout": 60_000,
    "keepalives_idle": 30,
    "application_name": "sheaf",
    "options": OPTIONS,
}


READS = " -c default_transaction_read_only=on"
WRITES = " -c enable_seqscan=off -c jit=off"
"""The rows of a document are found by their index, even where nobody has counted them: a table that
grew since then would be read from end to end, again and again."""
IN_ONE_COPY = 5000  # rows


class PostgresDatabase(Database):
    errors = (SQLAlchemyError, psycopg.Error)

    def __init__(self, address: str, password: str, writable: bool) -> None:
        settings = postgres_settings(address, password)
        reads, writes = (settings["options"] + each for each in (READS, WRITES))
        writer = _engine(settings | {"options": writes}, 1) if writable else None
        super().__init__(hidden(address), writer, _engine(settings | {"options": reads}, READERS))

    def explained(self, error: Exception) -> Exception:
        return postgres_error(error, self.name) if isinstance(error, psycopg.Error) else error

    def text_of(self, column: str, wanted: DataType) -> str:
        return f"{column}::text" if wanted.kind == "json" else column

    def shape_index(self, index: Index) -> None:
        """One by hash takes texts of any length."""
        index.dialect_options["postgresql"]["using"] = "hash"

    def widen(self, db: Connection, table: str, column: Column[Any]) -> None:
        self._alter(db, table, column, f"TYPE {column.type.compile(self.dialect)}")

    def relax(self, db: Connection, table: str, column: Column[Any]) -> None:
        self._alter(db, table, column, "DROP NOT NULL")

    def _alter(self, db: Connection, table: str, column: Column[Any], change: str) -> None:
        name = self.quoted(column.name)
        db.exec_driver_sql(f"ALTER TABLE {self.quoted(table)} ALTER COLUMN {name} {change}")

    def comment(self, db: Connection, column: Column[Any]) -> None:
        db.execute(SetColumnComment(column))

    def among(self, column: str, values: Sequence[str]) -> Among:
        return f"{self.quoted(column)} = ANY(%s)", (list(values),)

    def put(self, db: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """By COPY, which costs a third of INSERT; with a key by way of a table of this session."""
        columns = self.columns(table)
        if not table.key:
            self._copy(db, f"{self.quoted(table.name)} ({columns})", rows)
            return
        new = self.quoted(f"_new_{sha256(f'{table.name} {columns}'.encode()).hexdigest()[:16]}")
        db.exec_driver_sql(
            f"CREATE TEMP TABLE IF NOT EXISTS {new} ON COMMIT DELETE ROWS AS "
            f"SELECT {columns} FROM {self.quoted(table.name)} WITH NO DATA"
        )
        self._copy(db, new, rows)
        db.exec_driver_sql(f"{self.into(table)} SELECT {columns} FROM {new}{self.upsert(table)}")

    def _copy(self, db: Connection, place: str, rows: Sequence[tuple[Any, ...]]) -> None:
        raw: Any = db.connection.driver_connection
        statement = f"COPY {place} FROM STDIN".replace("%%", "%")  # it has no parameters
        with raw.cursor() as cursor, cursor.copy(statement) as copy:
            for at in range(0, len(rows), IN_ONE_COPY):
                copy.write(copied(rows[at : at + IN_ONE_COPY]))


def _engine(settings: dict[str, Any], size: int) -> Engine:
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(**settings),
        pool_size=size,
        pool_pre_ping=True,
        hide_parameters=True,
    )


def postgres_settings(address: str, password: str) -> dict[str, Any]:
    """What the driver connects with."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # its text may hold a password
        raise UsageError(
            f"the database {hidden(address)} is not known: write it like postgresql://user@host/db"
        ) from None
    if "password" in given:
        raise refuse_password(address)
    return {**SETTINGS, **given, **({"password": password} if password else {})}


REFUSED = (
    errors.DiskFull,
    errors.InsufficientPrivilege,
    errors.ReadOnlySqlTransaction,
)
LOST = (errors.UndefinedTable, errors.UndefinedColumn)
BAD_RECORDS = (
    psycopg.DataError,
    psycopg.IntegrityError,
    errors.ProgramLimitExceeded,
    errors.FeatureNotSupported,  # such as a wider column that somebody's view shows
)


def postgres_error(error: psycopg.Error, name: str) -> HarvestError | psycopg.Error:
    said = " ".join(str(error).split())
    if isinstance(error, REFUSED):
        return StopHarvest(f"{name} cannot be written ({said}): fix this, then start again")
    if isinstance(error, LOST):
        return StateDamaged(f"{name} has lost a table of this harvest ({said}): bring it back")
    if isinstance(error, BAD_RECORDS):
        return GiveUp(f"{name} does not take these records: {said}")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return Unavailable(f"{name} cannot be reached: {said}")
    return error
