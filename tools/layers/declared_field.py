"""A field as a task's file declares it: a text, or a table of its source and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..base.mistakes import Mistakes, Section, shown
from ..base.text import did_you_mean
from .convert import KINDS, MARKS, content_of, converter, date_fault
from .field import (
    REQUESTS,
    At,
    Field,
    Find,
    Matching,
    OfNode,
    carried,
    constant,
    header,
    of_request,
    template,
)
from .rules import Each
from .selector import css_finder, json_finder, pattern_of, xpath_finder

SOURCES = ("css", "xpath", "json", "text", "carried", "constant", "header", "request")
MADE = ("re", "many", "as", "format", "plus", "default", "required")
MANY = ("first", "all", "join", "rows")
KEYS = (*SOURCES, *MADE)
PLAIN = {"html": "css", "xml": "css", "json": "json", "text": "re"}
"""What a text alone is, in a layer of this format."""
SELECTORS = {"css": ("html", "xml"), "xpath": ("html", "xml"), "json": ("json",)}
NOTHING = Field("", constant(None), converter(None))


def field_of(said: Any, place: str, format: str, mistakes: Mistakes) -> Field:
    """One that says nothing, if it is wrong."""
    if isinstance(said, bool | int | float):
        return Field(place, constant(said), converter(None))
    if isinstance(said, str):
        kind = PLAIN[format]
        section = Section({kind: said}, place, mistakes)
        return _made(section, format, is_short=True)
    if not isinstance(said, dict):
        mistakes.add(
            place, f"must be a selector or a table such as {{css = ...}}, not {shown(said)}"
        )
        return NOTHING
    return _made(Section(said, place, mistakes, KEYS), format)


def _made(section: Section, format: str, is_short: bool = False) -> Field:
    find, needs = _source(section, format, is_short)
    if "re" in section:
        find = _matching(section, find, is_short)
    kind = section.choice("as", KINDS, "") or None
    return Field(
        section.place,
        find,
        converter(kind, _format(section, kind)),
        section.choice("many", MANY, "first"),
        _plus(section, kind),
        section.said.get("default"),
        section.flag("required", False),
        needs,
    )


def _source(section: Section, format: str, is_short: bool) -> tuple[Find, tuple[str, ...]]:
    named = [name for name in SOURCES if name in section]
    if len(named) > 1:
        section.mistakes.add(section.place, f"has {' and '.join(named)}: one of them is enough")
    if not named:
        if "re" not in section:
            missing = f"says not where it is found: give one of {', '.join(SOURCES)}"
            section.mistakes.add(section.place, missing)
        return whole_text, ()
    name = named[0]
    if name == "constant":
        return constant(section.said[name]), ()
    text = section.text(name)
    place = section.place if is_short else section.at(name)
    if name in SELECTORS and format not in SELECTORS[name]:
        fitting = f'a layer of format = "{format}" has no {name}'
        section.mistakes.add(place, f"{fitting}; it has {PLAIN[format]}")
        return constant(None), ()
    try:
        return _finder(name, text, format)
    except ValueError as error:
        section.mistakes.add(place, str(error))
    return constant(None), ()


def _finder(name: str, text: str, format: str) -> tuple[Find, tuple[str, ...]]:
    if name == "text":
        return template(text)
    if name == "request":
        try:
            return of_request(text), ()
        except KeyError:
            known = [*REQUESTS, "query.NAME", "sent.NAME"]
            hint = did_you_mean(text, known) or f"; known: {', '.join(known)}"
            raise ValueError(f"a request has no {text!r}{hint}") from None
    selectors: dict[str, Callable[[str], Find]] = {
        "css": lambda css: OfNode(css_finder(css, format)),
        "xpath": lambda path: OfNode(xpath_finder(path)),
        "json": lambda path: OfNode(json_finder(path)),
        "carried": carried,
        "header": header,
    }
    return selectors[name](text), ()


def whole_text(node: Any, at: At) -> Iterable[str]:
    """Of the page as it was sent; within a row, what it shows."""
    return (at.page.text if node is at.page.content else content_of(node),)


def _matching(section: Section, find: Find, is_short: bool) -> Find:
    try:
        pattern = pattern_of(section.text("re"))
    except ValueError as error:
        section.mistakes.add(section.place if is_short else section.at("re"), str(error))
        return find
    return Matching(find, pattern)


def _format(section: Section, kind: str | None) -> str | None:
    if "format" not in section:
        return None
    said = section.text("format")
    if kind == "number" and said in MARKS:
        return said
    if kind == "date" and "%" in said:
        if fault := date_fault(said):
            section.wrong("format", fault)
        return said
    section.wrong("format", 'must be "." or "," of a number, or like "%d.%m.%Y" of a date')
    return None


def _plus(section: Section, kind: str | None) -> Any:
    """Of a number a number, of anything else a text."""
    plus = section.said.get("plus")
    is_number = type(plus) in (int, float)
    if plus is not None and (is_number if kind != "number" else not is_number):
        right = "a number" if kind == "number" else 'text, unless as = "number" stands beside it'
        section.wrong("plus", f"must be {right}")
        return None
    return plus


def each_of(section: Section, format: str) -> Each:
    """What there is a row or a request for."""
    if "each" not in section:
        return Each()
    said, place = section.said["each"], section.at("each")
    table = {PLAIN[format]: said} if isinstance(said, str) else said
    each = Section(table, place, section.mistakes, (*SELECTORS, "re"))
    found = _made(each, format, is_short=isinstance(said, str))
    return Each(place, found.find)
