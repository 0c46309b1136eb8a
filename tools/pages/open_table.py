"""Which table of pages an address names: a file, `sqlite:PATH`, or a server, `postgresql://...`."""

from __future__ import annotations

from pathlib import Path

from ..base import extras
from ..base.credentials import one_secret
from ..tables.address import PASSWORD_VARIABLE, is_postgres, sqlite_path
from .table import PATHS_KEPT, PageTable
from .table_sqlite import SqlitePages


def open_table(
    address: str, state: Path, password_file: Path | None = None, paths_kept: int = PATHS_KEPT
) -> PageTable:
    """Ready to be written, made if it is not there yet. A path is one in the folder `state`."""
    if is_postgres(address):
        return _postgres(address, password_file, True, paths_kept)
    return SqlitePages(sqlite_path(address, state), paths_kept=paths_kept)


def visit_table(address: str, state: Path, password_file: Path | None = None) -> PageTable | None:
    """To be read, while somebody else may be writing; None if there is no such file."""
    if is_postgres(address):
        return _postgres(address, password_file, False, PATHS_KEPT)
    path = sqlite_path(address, state)
    return SqlitePages(path, writable=False) if path.exists() else None


def _postgres(
    address: str, password_file: Path | None, writable: bool, paths_kept: int
) -> PageTable:
    """The driver is imported only by those who use it."""
    with extras.named():
        from .table_postgres import PostgresPages

    password = one_secret(PASSWORD_VARIABLE, password_file)
    return PostgresPages(address, password, writable, paths_kept)
