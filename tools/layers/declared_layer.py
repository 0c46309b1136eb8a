"""A layer as a task's file declares it: how it is asked for, its rows, and what is asked next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.mistakes import Section
from ..base.text import did_you_mean
from ..tables.declared import Table
from .declared_field import each_of, field_of
from .field import Field
from .request import Layer
from .rules import Next, Rows, Rules
from .selector import css_finder
from .task import FORMATS, LayerOptions

LAYER = (*("deep", "format", "accept", "status", "age", "keep", "identity", "next", "rows"),)
NEXT = (*("to", "each", "url", "method", "form", "json", "form_of", "carry", "when", "referer"),)
ROWS = ("table", "each", "fields")
IDENTITY = ("referer",)
METHODS = ("GET", "POST", "JSON")


LAYER_NAME = "a layer's name must be without blanks, slashes and control characters"


def is_layer_name(name: str) -> bool:
    """It stands in identities between blanks, and in the name of a state."""
    return bool(name) and name.isprintable() and not set(name) & set(" /\\")


def options_of(section: Section) -> LayerOptions:
    return LayerOptions(
        section.choice("format", FORMATS, "html"),
        section.text("accept"),
        _status(section),
        section.seconds("age", None),
        section.flag("keep", False),
        "referer" in section.among("identity", IDENTITY, "part of a request"),
    )


def _status(section: Section) -> tuple[int, ...]:
    said = section.said.get("status", [200])
    codes = said if isinstance(said, list) else [said]
    if not codes or not all(type(each) is int and 100 <= each <= 599 for each in codes):
        section.wrong("status", "must be codes of HTTP, such as [200, 404]")
        return (200,)
    return tuple(codes)


def rules_of(
    section: Section,
    format: str,
    layers: Mapping[Layer, int],
    tables: Mapping[str, Table] | None,
) -> Rules:
    rows = [_rows(each, format, tables) for each in section.sections("rows", ROWS)]
    follow = [_next(each, format, layers) for each in section.sections("next", NEXT)]
    return Rules(tuple(rows), tuple(follow))


def _rows(section: Section, format: str, tables: Mapping[str, Table] | None) -> Rows:
    table = section.text("table")
    fields = _fields(section, "fields", format)
    if not fields:
        section.wrong("fields", "a row needs at least one")
    if tables is not None:
        _check_table(section, table, fields, tables)
    texts = {name: each for name, each in fields.items() if each.needs}
    _check_names(section, "fields", fields, texts)
    others = {name: each for name, each in fields.items() if not each.needs}
    spread = tuple(name for name, each in fields.items() if each.many == "rows")
    required = tuple(name for name, each in fields.items() if each.required)
    return Rows(table, each_of(section, format), others, texts, spread, required)


def _check_table(
    section: Section, name: str, fields: Mapping[str, Field], tables: Mapping[str, Table]
) -> None:
    table = tables.get(name)
    if table is None:
        section.wrong("table", f"no table {name!r}{did_you_mean(name, tables)}")
        return
    for column in fields:
        if column not in table.columns:
            near = did_you_mean(column, table.columns)
            section.mistakes.say(f"tables.{name} has no column {column!r} ({section.place}){near}")
    for column in table.key:
        if column not in fields:
            section.mistakes.say(
                f"tables.{name} has the key {column!r}, and no field gives it ({section.place})"
            )


def _check_names(
    section: Section, key: str, fields: Mapping[str, Field], texts: Mapping[str, Field]
) -> None:
    """A text is put together of what is found, not of another text."""
    for name, each in texts.items():
        for other in each.needs:
            if other in texts:
                sentence = f"{{{other}}} is a text itself: write it out here"
                section.mistakes.add(f"{section.at(key)}.{name}", sentence)


def _next(section: Section, format: str, layers: Mapping[Layer, int]) -> Next:
    _check_target(section)
    names = [str(layer) for layer in layers]
    to = section.text("to")
    if to not in names:
        sentence = f"no layer {to!r}{did_you_mean(to, names)}" if to else "which layer it leads to"
        section.wrong("to", sentence)
    return Next(
        to,
        each_of(section, format),
        _maybe(section, "url", format),
        section.choice("method", METHODS, ""),
        _fields(section, "form", format),
        _fields(section, "json", format) if "json" in section else None,
        _form_of(section),
        _fields(section, "carry", format),
        _maybe(section, "when", format),
        section.flag("referer", False),
    )


def _check_target(section: Section) -> None:
    """Where the request goes must be said, and only once."""
    if not {"url", "form_of", "form", "json"} & section.said.keys():
        section.mistakes.add(section.place, "has no url")
    for one, other in (("form", "json"), ("form_of", "url"), ("form_of", "json")):
        if one in section and other in section:
            section.mistakes.add(section.place, f"has {one} and {other}: one of them is enough")
    method = section.said.get("method")
    if "json" in section and method not in (None, "JSON"):
        section.wrong("method", "json is sent by the method JSON, which is a POST of it")
    if method == "JSON" and "json" not in section:
        section.wrong("method", "JSON needs json = {...}, what is sent")


def _form_of(section: Section) -> str:
    css = section.text("form_of")
    if css:
        try:
            css_finder(css)
        except ValueError as error:
            section.wrong("form_of", str(error))
    return css


def _maybe(section: Section, key: str, format: str) -> Field | None:
    if key not in section:
        return None
    return field_of(section.said[key], section.at(key), format, section.mistakes)


def _fields(section: Section, key: str, format: str) -> dict[str, Field]:
    named: Mapping[str, Any] = section.section(key).said
    return {
        name: field_of(said, f"{section.at(key)}.{name}", format, section.mistakes)
        for name, said in named.items()
    }
