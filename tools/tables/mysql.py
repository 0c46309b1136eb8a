"""Tables in MariaDB or MySQL.

Promise: texts are compared by their bytes, so `a`, `A` and `a ` are three keys. A server that goes
away is `Unavailable`; when it is back the next call connects anew. Limit: tables are made and
extended outside of transactions; a start that was killed midway is finished by the next.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any

import pymysql
from sqlalchemy import Column, Connection, Engine, Index, create_engine, event
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from ..base.credentials import hidden
from ..errors import GiveUp, StateDamaged, StopHarvest, Unavailable, UsageError
from .address import refuse_password
from .database import READERS, TYPES, Database
from .declared import Table

CONNECT_S = 10
STATEMENT_S = 300
PREFIX = 190  # characters of a request that its index knows
SESSION = "SET SESSION sql_mode = 'STRICT_ALL_TABLES', innodb_lock_wait_timeout = 60"
READ_ONLY = "SET SESSION TRANSACTION READ ONLY"
SETTINGS: dict[str, Any] = {
    "charset": "utf8mb4",
    "connect_timeout": CONNECT_S,
    "read_timeout": STATEMENT_S,
    "write_timeout": STATEMENT_S,
}
KNOWN_OPTIONS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_check_hostname")


class MysqlDatabase(Database):
    errors = (SQLAlchemyError, pymysql.err.Error)
    column_types = TYPES | {
        "text": mysql.LONGTEXT(),
        "datetime": mysql.DATETIME(fsp=6),
        "time": mysql.TIME(fsp=6),
        "json": mysql.JSON(),
        "blob": mysql.LONGBLOB(),
    }

    def __init__(self, address: str, password: str, writable: bool) -> None:
        url = _url(address, password)
        writer = _engine(url, 1, SESSION) if writable else None
        reader = _engine(url, READERS, READ_ONLY)
        super().__init__(hidden(address), writer, reader)

    def is_mistake(self, error: Exception) -> bool:
        code = getattr(getattr(error, "orig", None), "args", (0,))[0]
        return super().is_mistake(error) or code in LOST

    def explained(self, error: Exception) -> Exception:
        return _explained(error, self.name) if isinstance(error, pymysql.err.Error) else error

    def try_out(self) -> None:
        """The first connection also learns what server it is, which names of collations need."""
        super().try_out()
        with self.reading():
            pass

    @property
    def table_options(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Without padding: else `a` and `a ` would be one key."""
        is_mariadb = getattr(self.dialect, "is_mariadb", False)
        collate = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
        return {
            "mysql_engine": "InnoDB",
            "mysql_row_format": "DYNAMIC",
            "mysql_default_charset": "utf8mb4",
            "mysql_collate": collate,
        }

    def shape_index(self, index: Index) -> None:
        index.dialect_options["mysql"]["length"] = PREFIX

    def widen(self, db: Connection, table: str, column: Column[Any]) -> None:
        """All that a column is must be said again."""
        described = CreateColumn(column).compile(dialect=self.dialect)
        db.exec_driver_sql(f"ALTER TABLE {self.quoted(table)} MODIFY COLUMN {described}")

    relax = widen

    def put(self, db: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """What must be unique besides the key would be taken for the key, and its row replaced."""
        if table.key and _has_unique(table):
            keys = ", ".join(map(self.quoted, table.key))
            marks = ", ".join([self.mark] * len(table.key))
            there = [
                tuple(row[at] for at in map([*table.columns].index, table.key)) for row in rows
            ]
            statement = f"DELETE FROM {self.quoted(table.name)} WHERE ({keys}) = ({marks})"
            db.exec_driver_sql(statement, there)
        super().put(db, table, rows)

    def upsert(self, table: Table) -> str:
        """As the driver understands it, which then sends many rows in a statement."""
        if not table.key or _has_unique(table):
            return ""
        names = [self.quoted(name) for name in self.beside_key(table)]
        return f" ON DUPLICATE KEY UPDATE {', '.join(f'{n} = VALUES({n})' for n in names)}"


def _has_unique(table: Table) -> bool:
    return any(each.is_unique for each in table.options.values())


def _url(address: str, password: str) -> URL:
    try:
        given = make_url(address)
    except (ArgumentError, ValueError):  # its text may hold a password
        given = None
    if given is None or not given.database or not {*given.query} <= {*KNOWN_OPTIONS}:
        raise UsageError(
            f"the database {hidden(address)} is not known: write it like mysql://user@host/db"
        )
    if given.password is not None:
        raise refuse_password(address)
    return given.set(drivername="mysql+pymysql", password=password or None)


def _engine(url: URL, size: int, begin: str) -> Engine:
    """Without locks on gaps between rows, over which two writers would stumble."""
    engine = create_engine(
        url,
        pool_size=size,
        pool_pre_ping=True,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        connect_args={**SETTINGS, "init_command": begin},
    )
    event.listen(engine, "do_connect", lambda _, __, words, named: _connected(*words, **named))
    return engine


def _connected(*words: Any, **named: Any) -> Any:
    """As the driver does it, which leaves a socket open where nobody answers."""
    db = pymysql.Connection(*words, **named, defer_connect=True)
    if "unix_socket" not in named:
        db.connect()
        return db
    line = socket.socket(socket.AF_UNIX)
    try:
        line.settimeout(CONNECT_S)
        line.connect(named["unix_socket"])
        db.connect(line)
    except BaseException as error:
        line.close()
        if isinstance(error, OSError):
            raise pymysql.err.OperationalError(2002, str(error)) from error
        raise
    return db


REFUSED = {1021, 1041, 1044, 1114, 1142, 1143, 1227, 1290, 1792, 1836}
"""Disk or table full, out of memory, not allowed, read only."""
LOST = {1054, 1146}
AWAY = {1040, 1043, 1045, 1047, 1049, 1053, 1129, 1130, 1152, 1158, 1159, 1160, 1161, 1203, 1205}
AWAY |= {1213, 1226, 1317, 1927, 1969, 2002, 2003, 2006, 2012, 2013, 2014, 2055, 4031}


def _explained(error: pymysql.err.Error, name: str) -> Exception:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    said = " ".join(str(error.args[-1] if error.args else error).split())
    if code in REFUSED:
        return StopHarvest(f"{name} cannot be written ({said}): fix this, then start again")
    if code in LOST:
        return StateDamaged(f"{name} has lost a table of this harvest ({said}): bring it back")
    if code in AWAY or isinstance(error, pymysql.err.InterfaceError) or code == 0:
        return Unavailable(f"{name} cannot be reached: {said}")
    if isinstance(error, pymysql.err.DatabaseError):
        return GiveUp(f"{name} does not take these records: {said}")
    return error
