"""Short cuts for the selectors that most fields have, such as `a.title::attr(href)`.

Promise: they find exactly what the same selector finds by way of XPath, in its order, in half the
time: rows have many fields, and starting an XPath costs more than what it finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

NAME = r"-?[A-Za-z_][A-Za-z0-9_-]*"
PLAIN = re.compile(rf"([A-Za-z][A-Za-z0-9]*)?(?:\.({NAME}))?::(?:text|attr\(({NAME})\))")

Find = Callable[[Any], Iterable[Any]]
IsMeant = Callable[[Any], bool]


def quick_finder(css: str, is_html: bool, long_way: Find) -> Find:
    """The long way for whatever is not plain."""
    found = PLAIN.fullmatch(css.strip())
    if found is None:
        return long_way
    tag, cls, name = found.groups()
    tag, name = (each.lower() if each and is_html else each for each in (tag, name))
    is_meant = _of_class(cls) if cls else None
    if name:
        return _attributes(tag or "*", is_meant, name)
    return _texts(tag or "*", is_meant, long_way)


def _of_class(cls: str) -> IsMeant:
    among_others = re.compile(rf"(?:\A|[ \t\r\n]){re.escape(cls)}(?:[ \t\r\n]|\Z)").search

    def is_meant(element: Any) -> bool:
        said = element.get("class")
        return said == cls or (said is not None and cls in said and bool(among_others(said)))

    return is_meant


def _attributes(tag: str, is_meant: IsMeant | None, name: str) -> Find:
    def find(node: Any) -> Iterator[str]:
        for element in node.iter(tag):
            if is_meant is None or is_meant(element):
                value = element.get(name)
                if value is not None:
                    yield value

    return find


def _texts(tag: str, is_meant: IsMeant | None, long_way: Find) -> Find:
    def find(node: Any) -> Iterator[str]:
        """An element with others inside it has its text in pieces, among which theirs may stand."""
        count = 0
        for element in node.iter(tag):
            if is_meant is None or is_meant(element):
                if len(element):
                    yield from islice(long_way(node), count, None)
                    return
                if element.text is not None:
                    count += 1
                    yield element.text

    return find
