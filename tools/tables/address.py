"""Where tables are: a file, `sqlite:PATH`, or a server; its password comes from elsewhere."""

from __future__ import annotations

from pathlib import Path

from ..base.credentials import hidden
from ..errors import UsageError

PASSWORD_VARIABLE = "SHEAF_DATABASE_PASSWORD"  # noqa: S105
POSTGRES = ("postgresql://", "postgres://")
MYSQL = ("mysql://", "mariadb://")


def is_postgres(address: str) -> bool:
    return address.startswith(POSTGRES)


def is_mysql(address: str) -> bool:
    return address.startswith(MYSQL)


def sqlite_path(address: str, folder: Path, others: str = "postgresql://user@host/db") -> Path:
    """
    >>> sqlite_path("sqlite:pages.db", Path("state-pages")).as_posix()
    'state-pages/pages.db'
    """
    kind, _, rest = address.partition(":")
    if kind != "sqlite" or not rest or rest.startswith("//"):
        raise UsageError(
            f"the database {hidden(address)!r} is not known: write it like sqlite:PATH or {others}"
        )
    return folder / rest


def refuse_password(address: str) -> UsageError:
    return UsageError(
        f"the password of {hidden(address)} must not stand in the address: give it in "
        f"{PASSWORD_VARIABLE} or in a file that only you can read"
    )
