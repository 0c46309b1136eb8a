"""Secrets come from the environment, or from a file that only its owner can read.

Promise: no message ever holds one.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Protocol, Self, TypeVar, runtime_checkable

from ..errors import UsageError

T = TypeVar("T")

_WORD = re.compile(r"\S+")
_AFTER = "'\"),.;:>}]"  # what a sentence or a list may write behind an address


def hidden(text: str) -> str:
    """A text whose addresses show no login and no query: a password or a key may be there.

    >>> hidden("--source http://me:p/w@h:80/x?key=1 --graph neo4j://neo4j@h")
    '--source http://h:80/x --graph neo4j://h'
    >>> hidden("('http://me:a,b'c@h', 'https://h/x?key=1,2') and https://h/y?z.")
    "('http://h', 'https://h/x') and https://h/y."
    """
    return _WORD.sub(lambda found: _without_secrets(found[0]), text)


def _without_secrets(word: str) -> str:
    """A password may hold a comma or a quote: only a blank ends an address for sure."""
    before, mark, address = word.partition("://")
    shown, _, query = address.rpartition("@")[2].partition("?")
    return f"{before}{mark}{shown}{query[len(query.rstrip(_AFTER)) :]}" if mark else word


def key_variable(provider: str) -> str:
    """
    >>> key_variable("freesound")
    'SHEAF_FREESOUND_KEY'
    """
    return f"SHEAF_{provider.upper()}_KEY"


@runtime_checkable
class HasSecrets(Protocol):
    """A section of the settings that reads some of its values from elsewhere."""

    def with_secrets(self) -> Self: ...


def with_secrets(settings: T) -> T:
    """The same with what its sections read from the environment and from files of secrets."""
    sections = {each.name: getattr(settings, each.name) for each in fields(settings)}  # type: ignore[arg-type]
    found = {
        name: section.with_secrets()
        for name, section in sections.items()
        if isinstance(section, HasSecrets)
    }
    return replace(settings, **found)  # type: ignore[type-var]


def secret_lines(variable: str, file: Path | None, separator: str = "\n") -> tuple[str, ...]:
    """Those of the environment, with `separator` between them, and those of the file."""
    text = os.environ.get(variable, "")
    if file is not None:
        text += "\n" + read_secret(file)
    lines = text.replace(separator, "\n").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def one_secret(variable: str, file: Path | None = None) -> str:
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
