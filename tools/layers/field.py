"""A declared field: where it is found on a page, and what is made of it.

Promise: compiled once; the same page gives the same value. A value that cannot be had is None.
"""

from __future__ import annotations

import string
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ..errors import GiveUp
from .convert import Convert
from .page import Page
from .request import Request
from .selector import bounded

LONGEST_S = 60.0
"""For all fields of a page; a selector that looks at everything for each of many rows ends so."""


@dataclass(slots=True)
class At:
    """Where fields are read: a page, what was asked for it, what is known of this row so far."""

    request: Request
    page: Page
    known: dict[str, Any] = field(default_factory=dict)
    until: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)

    def check_time(self) -> None:
        if time.monotonic() > self.until:
            raise GiveUp(f"finding the fields of the page took more than {LONGEST_S:.0f} s")


Find = Callable[[Any, At], Iterable[Any]]
"""What a source finds in an element, value or text."""


class Field(NamedTuple):
    place: str
    find: Find
    convert: Convert
    many: str = "first"
    plus: Any = None
    default: Any = None
    required: bool = False
    needs: tuple[str, ...] = ()  # names of others, which a text is put together of

    def one(self, node: Any, at: At) -> Any:
        """The first that says something; all of them if that is meant."""
        if self.many != "first":
            return self._together(self.each(node, at))
        convert, page = self.convert, at.page
        for found in self.find(node, at):
            value = convert(found, page)
            if value is not None:
                return value if self.plus is None else self._more(value)
        return self.default

    def each(self, node: Any, at: At) -> list[Any]:
        """All that say something."""
        found = (self.convert(each, at.page) for each in self.find(node, at))
        said = bounded((each for each in found if each is not None), self.place)
        return said if self.plus is None else [self._more(each) for each in said]

    def _together(self, values: list[Any]) -> Any:
        if not values:
            return self.default
        return " ".join(map(str, values)) if self.many == "join" else [*map(_plain, values)]

    def _more(self, value: Any) -> Any:
        """A number counted on, a text made longer."""
        if isinstance(self.plus, str):
            return f"{value}{self.plus}"
        plus = Decimal(str(self.plus)) if isinstance(value, Decimal) else self.plus
        return value + plus


def _plain(value: Any) -> Any:
    """What JSON has a word for."""
    return float(value) if isinstance(value, Decimal) else value


def of_node(find: Callable[[Any], Iterable[Any]]) -> Find:
    return lambda node, at: find(node)


def constant(value: Any) -> Find:
    return lambda node, at: (value,)


def carried(name: str) -> Find:
    return lambda node, at: _some(at.request.carried.get(name))


def header(name: str) -> Find:
    return lambda node, at: _some(at.page.header(name))


REQUESTS: Mapping[str, Callable[[At], Any]] = {
    "url": lambda at: at.request.address,
    "page": lambda at: at.page.url,
    "layer": lambda at: at.request.layer,
    "method": lambda at: at.request.method,
    "referer": lambda at: at.request.referer,
}


def of_request(name: str) -> Find:
    """What was asked; `query.NAME` and `sent.NAME` are parts of it."""
    if name in REQUESTS:
        return lambda node, at: _some(REQUESTS[name](at))
    kind, _, part = name.partition(".")
    if kind == "query" and part:
        return lambda node, at: _some(_in_query(at.request.address, part))
    if kind == "sent" and part:
        return lambda node, at: _some(at.request.value(part))
    raise KeyError(name)


def _in_query(url: str, name: str) -> str | None:
    return next((value for key, value in parse_qsl(urlsplit(url).query) if key == name), None)


def template(text: str) -> tuple[Find, tuple[str, ...]]:
    """A text with {names} of fields beside it and of carried values, and which names these are;
    ValueError if it is none. What is not known makes all of it unknown."""
    parts = list(string.Formatter().parse(text))
    names = tuple(name for _, name, _, _ in parts if name is not None)
    if any(not name.isidentifier() for name in names) or any(
        spec or how for _, _, spec, how in parts
    ):
        raise ValueError(f"{text!r} must have plain names in its braces, such as {{page}}")

    def find(node: Any, at: At) -> Iterable[str]:
        values = {name: at.known.get(name, at.request.carried.get(name)) for name in names}
        return () if None in values.values() else (text.format_map(values),)

    return find, names


def _some(value: Any) -> Iterable[Any]:
    return () if value is None else (value,)
