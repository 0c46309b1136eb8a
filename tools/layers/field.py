"""A declared field: where it is found on a page, and what is made of it.

Promise: compiled once; the same page gives the same value. A value that cannot be had is None.
"""

from __future__ import annotations

import re
import string
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..errors import GiveUp
from .convert import Convert, as_found, content_of
from .page import Page
from .quick import First
from .request import Request
from .selector import bounded

LONGEST_S = 60.0
"""For all fields of a page; a selector that looks at everything for each of many rows ends so."""
LARGEST_ROWS = 100_000_000
SMALL = 50_000  # characters of a page that cannot become so many
LONGEST_PIECE = 20_000
"""Characters that a pattern sees at once. Some patterns look at every character for every other
one, and nobody can stop them."""


@dataclass(slots=True)
class At:
    """Where fields are read: a page, what was asked for it, what is known of this row so far."""

    request: Request
    page: Page
    known: dict[str, Any] = field(default_factory=dict)
    until: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)
    size: int = 0
    is_large: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_large = len(self.page.text) > SMALL

    def check_time(self) -> None:
        if time.monotonic() > self.until:
            raise GiveUp(f"finding the fields of the page took more than {LONGEST_S:.0f} s")

    def count(self, values: Mapping[str, Any]) -> None:
        """Rows within rows could have the same long text again and again."""
        for value in values.values():
            if type(value) is str:
                self.size += len(value)
            elif type(value) is list:
                self.size += sum(len(each) for each in value if type(each) is str)
        if self.size > LARGEST_ROWS:
            raise GiveUp(f"the fields of the page have more than {LARGEST_ROWS:,} characters")


Find = Callable[[Any, At], Iterable[Any]]
"""What a source finds in an element, value or text."""
Read = Callable[[Any, At], Any]


@dataclass(slots=True)
class Field:
    place: str
    find: Find
    convert: Convert
    many: str = "first"
    plus: Any = None
    default: Any = None
    required: bool = False
    needs: tuple[str, ...] = ()  # names of others, which a text is put together of
    one: Read = field(init=False, repr=False)
    """The first that says something; all of them if that is meant."""

    def __post_init__(self) -> None:
        self.one = self._together if self.many != "first" else self._first
        first: First | None = getattr(self.find, "first", None)
        if first is not None and self.many == "first" and self.plus is None:
            self.one = self._quick(first)

    def _quick(self, first: First) -> Read:
        """Without a loop, for most."""
        convert, default = self.convert, self.default
        if convert is as_found and not isinstance(self.find, Matching):
            return lambda node, at: default if (text := first(node)) is None else text

        def one(node: Any, at: At) -> Any:
            text = first(node)
            if text is None:
                return self._first(node, at) if isinstance(self.find, Matching) else default
            value = convert(text, at.page)
            return self._first(node, at) if value is None else value

        return one

    def _first(self, node: Any, at: At) -> Any:
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

    def _together(self, node: Any, at: At) -> Any:
        values = self.each(node, at)
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


class OfNode:
    """What a selector finds, wherever the page came from."""

    def __init__(self, find: Callable[[Any], Iterable[Any]]) -> None:
        self._find = find
        self.first: First | None = getattr(find, "first", None)

    def __call__(self, node: Any, at: At) -> Iterable[Any]:
        return self._find(node)


class Matching:
    """The first group of each match in what is found, or all of it if there is no group. A text
    that is very long is looked at in pieces, which end where a line does."""

    def __init__(self, find: Find, pattern: re.Pattern[str]) -> None:
        self._find = find
        self._pattern = pattern
        self._group = min(pattern.groups, 1)
        self._first_text: First | None = getattr(find, "first", None)
        self.first = self._first_match if self._first_text else None

    def __call__(self, node: Any, at: At) -> Iterator[str]:
        for found in self._find(node, at):
            for piece in _pieces(content_of(found).strip()):
                at.check_time()
                for match in self._pattern.finditer(piece):
                    if match[self._group] is not None:
                        yield match[self._group]

    def _first_match(self, node: Any) -> str | None:
        """In the first text, as a rule; None if one has to look further."""
        text = self._first_text(node) if self._first_text else None
        if text is None or len(text) > LONGEST_PIECE:
            return None
        match = self._pattern.search(text)
        return (match[self._group] or "").strip() or None if match else None


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > LONGEST_PIECE:
        end = text.rfind("\n", start, start + LONGEST_PIECE) + 1 or start + LONGEST_PIECE
        yield text[start:end]
        start = end
    yield text[start:]


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
