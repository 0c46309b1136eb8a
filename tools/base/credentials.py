"""Secrets come from the environment, or from a file that only its owner can read.

Promise: no message ever holds one.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import UsageError

PROXIES_VARIABLE = "SHEAF_PROXIES"
NOTICES_VARIABLE = "SHEAF_NOTICES"
NEO4J_VARIABLE = "SHEAF_NEO4J_PASSWORD"
PASSPHRASE_VARIABLE = "SHEAF_TRANSPORT_PASSPHRASE"  # noqa: S105
TRANSPORT_PROXY_VARIABLE = "SHEAF_TRANSPORT_PROXY"
TRANSPORT_SECRET_VARIABLE = "SHEAF_TRANSPORT_SECRET"  # noqa: S105


_LOGIN = re.compile(r"(?<=://)[^\s'\",]*@")
_QUERY = re.compile(r"(://[^\s'\",?]*)\?[^\s'\",]*")


def hidden(text: str) -> str:
    """A text whose addresses show no login and no query: a password or a key may be there.

    >>> hidden("--source http://me:p/w@h:80/x?key=1 --graph neo4j://neo4j@h")
    '--source http://h:80/x --graph neo4j://h'
    """
    return _QUERY.sub(r"\1", _LOGIN.sub("", text))


def key_variable(provider: str) -> str:
    """
    >>> key_variable("freesound")
    'SHEAF_FREESOUND_KEY'
    """
    return f"SHEAF_{provider.upper()}_KEY"


def proxies(file: Path | None) -> tuple[str, ...]:
    """Those of the environment and those of the file."""
    return tuple(_lines(PROXIES_VARIABLE, file, ","))


def notices(file: Path | None) -> tuple[str, ...]:
    """Where notices go. In the environment they stand on lines too: an address may hold a comma."""
    lines = _lines(NOTICES_VARIABLE, file)
    return tuple(line for line in lines if not line.startswith("#"))


def _lines(variable: str, file: Path | None, separator: str = "\n") -> Iterator[str]:
    text = os.environ.get(variable, "")
    if file is not None:
        text += "\n" + read_secret(file)
    lines = text.replace(separator, "\n").splitlines()
    return (line.strip() for line in lines if line.strip())


def neo4j_password(file: Path | None) -> str:
    return _one(NEO4J_VARIABLE, file)


def transport_secret(file: Path | None) -> str:
    """What the two ends of a transport sign with."""
    return _one(TRANSPORT_SECRET_VARIABLE, file)


def passphrase() -> str:
    """Of the private key."""
    return _one(PASSPHRASE_VARIABLE, None)


def transport_proxy() -> str:
    return _one(TRANSPORT_PROXY_VARIABLE, None).strip()


def _one(variable: str, file: Path | None) -> str:
    """The environment goes before the file."""
    found = os.environ.get(variable, "")
    if not found and file is not None:
        found = read_secret(file).strip("\r\n")
    return found


def keys(providers: Iterable[str], file: Path | None) -> dict[str, str]:
    """The providers' keys; the environment goes before the file, which has lines like
    `freesound = "..."`."""
    known = set(providers)
    table = {} if file is None else _read_keys(file, known)
    for name in known:
        if key := os.environ.get(key_variable(name), "").strip():
            table[name] = key
    return table


def _read_keys(file: Path, known: set[str]) -> dict[str, str]:
    try:
        table = tomllib.loads(read_secret(file))
    except tomllib.TOMLDecodeError:  # its text holds the secret
        table = {"": ""}
    if any(name not in known or not isinstance(key, str) for name, key in table.items()):
        names = ", ".join(sorted(known))
        raise UsageError(f'{file} must have lines like freesound = "..."; the names are {names}')
    return table


def read_secret(path: Path) -> str:
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f"{path} holds secrets but others can read it: chmod 600 {path}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:  # its text holds the secret
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
