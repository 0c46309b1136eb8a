"""A table of a TOML file changes a dataclass: every value of its kind, every name a known one.

A field that is no part of a printed dataclass (`repr=False`) is no setting either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from ..errors import WrongSetting
from .text import nearest

T = TypeVar("T")


def build(usual: T, table: Mapping[str, Any], where: str = "") -> T:
    """`usual`, but for what the table says."""
    types = get_type_hints(type(usual))
    known = [each.name for each in fields(usual) if each.repr]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise WrongSetting(where + key, unknown(where + key, key, known))
    given = {
        key: _convert(types[key], value, where + key, getattr(usual, key))
        for key, value in table.items()
    }
    return replace(usual, **given)  # type: ignore[type-var]


def table_of(settings: Any) -> dict[str, Any]:
    """The table that makes the same of the usual ones; what is nothing is left out."""
    found = {each.name: getattr(settings, each.name) for each in fields(settings) if each.repr}
    return {key: _plain(value) for key, value in found.items() if value is not None}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return table_of(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return str(value) if isinstance(value, Path) else value


def unknown(name: str, key: str, known: Sequence[str], otherwise: str = "") -> str:
    """With the nearest right name; `otherwise` is what is said if none is near."""
    hint = otherwise or f"known: {', '.join(known)}"
    if near := nearest(key, known):
        hint = f"did you mean {name.removesuffix(key)}{near}?"
    return f"unknown setting {name}; {hint}"


def _convert(wanted: Any, value: Any, name: str, usual: Any) -> Any:
    if is_dataclass(usual):
        if not isinstance(value, Mapping):
            sentence = f"{name} is a section: write [{name}] and its settings below it"
            raise WrongSetting(name, sentence)
        return build(usual, value, f"{name}.")
    accept, kind = KINDS[wanted]
    result = accept(value)
    if result is None:
        raise WrongSetting(name, f"{name} must be {kind}, not {value!r}")
    return result


def _exactly(kind: type) -> Callable[[Any], Any]:
    """bool is an int in Python, but `workers = true` is a mistake."""
    return lambda value: value if type(value) is kind else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else None


def _path(value: Any) -> Path | None:
    return Path(value).expanduser() if isinstance(value, str | Path) and str(value) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    is_list = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return tuple(value) if is_list else None


def _texts_by_name(value: Any) -> dict[str, tuple[str, ...]] | None:
    table = {key: _texts(texts) for key, texts in value.items()} if isinstance(value, dict) else {}
    return None if None in table.values() or not isinstance(value, dict) else table  # type: ignore[return-value]


def _text_by_name(value: Any) -> dict[str, str] | None:
    is_table = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    return value if is_table else None


def _tables_by_name(value: Any) -> dict[str, dict[str, str]] | None:
    is_table = isinstance(value, dict) and all(_text_by_name(each) for each in value.values())
    return value if is_table else None


KINDS: dict[Any, tuple[Callable[[Any], Any], str]] = {
    str: (_exactly(str), "text"),
    bool: (_exactly(bool), "true or false"),
    int: (_exactly(int), "a whole number"),
    int | None: (_exactly(int), "a whole number"),
    float: (_number, "a number"),
    float | None: (_number, "a number"),
    Path: (_path, "a path"),
    Path | None: (_path, "a path"),
    tuple[str, ...]: (_texts, "a list of texts"),
    Mapping[str, str]: (_text_by_name, "a table of texts"),
    Mapping[str, Mapping[str, str]]: (_tables_by_name, "a table of tables of texts"),
    Mapping[str, tuple[str, ...]]: (_texts_by_name, "a table of lists of texts"),
}
