"""Every setting with its value and where that comes from, for people; never a secret."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.credentials import hidden
from ..base.origin import line_of
from ..jobs.registry import job_of
from ..journal.effective import Value
from .flags import CHANGED_BY

if TYPE_CHECKING:
    from ..settings import Settings

LONGEST = 300  # characters
NO_SETTING = ("loaded",)  # what a file of the user's says, kept with the settings
NEVER = ("proxy.ask",)  # may hold a key
TYPED = ("layers.task", "layers.only", "structure.name")  # no secrets, though no file has them
SAMPLE = "flag --sample"


def values_of(
    settings: Settings, options: argparse.Namespace, before: Settings | None = None
) -> list[Value]:
    """Those of a harvest with these options; `before` are its settings without what the built-in
    sample puts in their place."""
    from ..settings import usual_for

    before = before or settings
    return [*_values(settings, before, usual_for(before), Origins(options))]


def _values(
    settings: Any, before: Any, usual: Any, origins: Origins, where: str = ""
) -> Iterator[Value]:
    for each in fields(settings):
        if each.name in NO_SETTING:
            continue
        value, was, default = (getattr(of, each.name) for of in (settings, before, usual))
        name = where + each.name
        if is_dataclass(value):
            yield from _values(value, was, default, origins, f"{name}.")
        elif name in NEVER or not (each.repr or name in TYPED):
            yield Value(name, "set" if value else "not set", "a secret")
        else:
            origin = origins.of(name, value == default) if value == was else SAMPLE
            yield Value(name, _shown(value), origin)


class Origins:
    """Where the settings come from, of whoever gave these options."""

    def __init__(self, options: argparse.Namespace) -> None:
        from ..settings import DEFAULT_FILE
        from .parsing import Parser
        from .remembered import said_by

        self._given, self._typed = vars(options), said_by(options.typed)
        self._spelled = Parser(options.verb).spelled
        self._job = job_of({"job": options.verb})
        self._file = self._given.get("config") or DEFAULT_FILE
        self._text, self._table = _read(self._file)

    def of(self, name: str, is_usual: bool) -> str:
        """By what goes before what: a flag before all, the file last."""
        origin = self._flags(name) or self._job.taken_from.get(name)
        origin = origin or self._variable(name) or self._line(name)
        return origin or ("default" if is_usual else "the job")

    def _flags(self, name: str) -> str:
        by = {**CHANGED_BY, **self._job.changed_by}.get(name, ())
        given = [each for each in by if _is_given(self._given.get(each))]
        typed = [each for each in given if _is_given(self._typed.get(each))]
        if not typed and given and self._given.get("sample"):
            return SAMPLE  # which gives what its user does not
        flags = [self._spelled.get(each, "") for each in typed or given]
        if not all(flags):  # a word without a flag, such as the name of a task
            return "the command line"
        return f"flag{'s' if len(flags) > 1 else ''} {', '.join(flags)}" if flags else ""

    def _variable(self, name: str) -> str:
        variable = f"SHEAF_{name.replace('.', '_').upper()}"
        is_read = name.startswith("pages.") and variable in os.environ  # no other section is
        return f"environment {variable}" if is_read else ""

    def _line(self, name: str) -> str:
        """If it stands in the file, and not only its section."""
        found: Any = self._table
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return "" if found is None else f"{self._file}, line {line_of(name, self._text)}"


def _is_given(value: object) -> bool:
    """Zero and an empty text can be meant."""
    return value is not None and value is not False


def _shown(value: Any) -> str:
    if value is None or value == "" or value == ():
        return "-"
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return hidden(str(value))[:LONGEST]


def _read(file: Path) -> tuple[str, dict[str, Any]]:
    """Its text, and what that says; nothing if there is none."""
    try:
        text = file.read_text("utf-8")
        return text, tomllib.loads(text)
    except (OSError, ValueError):
        return "", {}
