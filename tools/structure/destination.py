"""The part `database` of an export's file: where rows go, and where documents may come from.

Promise: a password is never part of an address or a message, and one in a file that others can
read is refused.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from ..base.mistakes import Section
from ..base.text import did_you_mean
from ..tables.address import PASSWORD_VARIABLE

PARTS = ("dbtype", "host", "port", "username", "password", "dbname")
DESTINATIONS = ("sqlite", "mysql", "mariadb", "postgresql")
SOURCES = ("mongodb",)
SOURCE_VARIABLE = "SHEAF_MONGODB_PASSWORD"
_HOST = re.compile(r"[\w.-]+")
_DATABASE = re.compile(r"[\w$.-]+")


@dataclass(frozen=True)
class Destination:
    """`url` is as `open_target` takes it: `sqlite:PATH`, or a server without its password."""

    url: str
    password: str | None = field(default=None, repr=False)


def destination(section: Section, file: Path) -> Destination | None:
    """None if the file names none: `--to URL` does then."""
    return _database(section, DESTINATIONS, PASSWORD_VARIABLE, file)


def source_db(section: Section, file: Path) -> Destination | None:
    """None: the documents are those of this job."""
    return _database(section, SOURCES, SOURCE_VARIABLE, file)


def _database(
    section: Section, kinds: tuple[str, ...], variable: str, file: Path
) -> Destination | None:
    texts = {part: section.text(part) for part in PARTS if part not in ("port", "password")}
    kind, port = texts["dbtype"].strip().lower(), _port(section)
    if not kind:
        return None
    if kind not in kinds:
        hint = did_you_mean(kind, kinds) or f"; it must be one of {', '.join(kinds)}"
        section.mistakes.say(f"{section.at('dbtype')} {texts['dbtype']!r} is not known{hint}")
        return None
    password = _password(section, variable, file)
    if not texts["dbname"]:
        section.mistakes.say(f"{section.place} has no dbname: write the name of the database")
    if kind == "sqlite":
        return Destination(f"sqlite:{texts['dbname']}")
    _check_names(section, texts["host"], texts["dbname"])
    address = _address(kind, texts["username"], texts["host"], port, texts["dbname"])
    return Destination(address, password)


def _address(kind: str, username: str, host: str, port: int | None, database: str) -> str:
    from sqlalchemy import URL  # it takes its time, and a file of SQLite is no address

    url = URL.create(kind, username or None, None, host, port, database or None)
    return url.render_as_string().replace(" ", "%20")


def _check_names(section: Section, host: str, database: str) -> None:
    """An address is read again by others: nothing in it may look like another part of it."""
    if not _HOST.fullmatch(host) and not _is_address(host):
        section.wrong("host", f"{host!r} is no name of a host; write one, such as localhost")
    if database and not _DATABASE.fullmatch(database):
        section.wrong("dbname", f"{database!r} may have letters, digits, _, $, - and dots only")


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def _port(section: Section) -> int | None:
    """A number, or one in quotes."""
    said = section.said.get("port", "")
    if said in ("", None):
        return None
    text = said if isinstance(said, str) else str(said) if type(said) is int else ""
    if re.fullmatch(r"[0-9]{1,5}", text.strip()) and 0 < int(text) < 65536:
        return int(text)
    section.wrong("port", "must be a number from 1 to 65535, or empty")
    return None


def _password(section: Section, variable: str, file: Path) -> str | None:
    password = section.said.get("password")
    if password and not isinstance(password, str):  # which is not to be shown
        section.wrong("password", "must be text in double quotes")
    elif password and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        section.wrong(
            "password",
            f"others can read this file: give the password in {variable} and remove it here, "
            f"or chmod 600 {file.name}",
        )
    return password or None
