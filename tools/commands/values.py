"""Every setting with its value and where that comes from, for people; never a secret."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.credentials import hidden
from ..base.origin import line_of

if TYPE_CHECKING:
    from ..settings import Settings
    from ..web.site import Value

LONGEST = 300  # characters
NO_SETTING = ("loaded",)  # what a file of the user's says, kept with the settings
NEVER = ("proxy.ask",)  # may hold a key
TYPED = ("layers.task", "layers.only", "structure.name")  # no secrets, though no file has them


def values_of(options: argparse.Namespace, settings: Settings) -> list[Value]:
    """Those of a harvest; which were flags is known as far as what its user typed is."""
    from ..settings import DEFAULT_FILE, Settings
    from .remembered import typed_for

    given = typed_for(settings.pools_file) or vars(options)
    file = given.get("config") or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    return [*_values(settings, Settings(), given, _text(file), str(file))]


def _values(
    settings: Any, usual: Any, given: Mapping[str, Any], text: str, file: str, where: str = ""
) -> Iterator[Value]:
    from ..web.site import Value

    for each in fields(settings):
        value, default = getattr(settings, each.name), getattr(usual, each.name)
        name = where + each.name
        if each.name in NO_SETTING:
            continue
        if is_dataclass(value):
            yield from _values(value, default, given, text, file, f"{name}.")
        elif name in NEVER or not (each.repr or name in TYPED):
            yield Value(name, "set" if value else "not set", "a secret")
        else:
            yield Value(name, _shown(value), _origin(name, value == default, given, text, file))


def _origin(name: str, is_usual: bool, given: Mapping[str, Any], text: str, file: str) -> str:
    flag = f"--{name.replace('_', '-')}"
    if "." not in name and given.get(name) is not None:
        return f"flag {flag}"
    if (variable := f"SHEAF_{name.replace('.', '_').upper()}") in os.environ:
        return f"environment {variable}"
    line = line_of(name, text)
    if line and _is_there(name, text, line):
        return f"{file}, line {line}"
    return "default" if is_usual else "flag or job"


def _is_there(name: str, text: str, line: int) -> bool:
    """Not only its section."""
    return name.rpartition(".")[2] in text.splitlines()[line - 1]


def _shown(value: Any) -> str:
    if value is None or value == "" or value == ():
        return "-"
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return hidden(str(value))[:LONGEST]


def _text(file: Path | None) -> str:
    try:
        return file.read_text("utf-8") if file else ""
    except (OSError, UnicodeDecodeError):
        return ""
