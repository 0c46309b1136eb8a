"""What a selector finds: CSS and XPath in trees, JMESPath in values, patterns in text.

Promise: each is compiled once, when the task is loaded; what is none raises ValueError then. What
it finds is bounded, whatever the page has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import jmespath
from cssselect import SelectorError
from lxml import etree
from parsel.csstranslator import GenericTranslator, HTMLTranslator

from ..errors import GiveUp
from .quick import Find, quick_finder

MOST = 100_000
REGULAR = {"re": "http://exslt.org/regular-expressions"}
NOWHERE = etree.Element("html")
REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


@lru_cache(maxsize=1024)
def css_finder(css: str, format: str = "html") -> Find:
    """
    >>> tree = etree.fromstring("<p>a<b class='x y'>c</b></p>")
    >>> [*css_finder("b.x::text")(tree), *css_finder("::attr(class)")(tree)]
    ['c', 'x y']
    """
    translator = HTMLTranslator() if format == "html" else GenericTranslator()
    try:
        path = translator.css_to_xpath(css)
    except (SelectorError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{css!r} is no selector{_why(error)}") from None
    return quick_finder(css, format == "html", xpath_finder(path))


@lru_cache(maxsize=1024)
def xpath_finder(path: str) -> Find:
    """Of what gives a text or a number, such as `string(.)`, that one."""
    compiled = _compiled(path)
    try:
        gives_nodes = isinstance(compiled(NOWHERE), list)
    except etree.XPathError as error:
        raise ValueError(f"{path!r} is no XPath{_why(error)}") from None
    if not gives_nodes:
        return lambda node: [compiled(node)]
    find: Find = _compiled(f"({path})[position() <= {MOST + 1}]")
    return find


def _compiled(path: str) -> Any:
    try:
        return etree.XPath(path, namespaces=REGULAR, smart_strings=False)
    except etree.XPathError as error:
        raise ValueError(f"{path!r} is no XPath{_why(error)}") from None


@lru_cache(maxsize=1024)
def json_finder(path: str) -> Find:
    """A list is what is found, one by one; null is nothing.

    >>> json_finder("a[].b")({"a": [{"b": 1}, {"b": 2}]}), json_finder("a")({"a": None})
    ([1, 2], [])
    """
    try:
        compiled = jmespath.compile(path)
    except (jmespath.exceptions.JMESPathError, ValueError, RecursionError) as error:
        raise ValueError(f"{path!r} is no JMESPath{_why(error)}") from None

    def find(value: Any) -> Sequence[Any]:
        try:
            found = compiled.search(value)
        except jmespath.exceptions.JMESPathError:  # such as the length of nothing
            return []
        return found if isinstance(found, list) else [] if found is None else [found]

    return find


@lru_cache(maxsize=1024)
def pattern_of(text: str) -> re.Pattern[str]:
    """ValueError for what is no pattern, and for one that repeats a repetition: `(a+)+` needs
    years for some texts.

    >>> pattern_of(r"(\\d+)*")
    Traceback (most recent call last):
    ValueError: '(\\\\d+)*' repeats a repetition, which may never end: leave the inner one out
    """
    try:
        compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is no regular expression{_why(error)}") from None
    if _is_endless(re._parser.parse(text)):  # type: ignore[attr-defined]
        hint = "repeats a repetition, which may never end: leave the inner one out"
        raise ValueError(f"{text!r} {hint}")
    return compiled


def _is_endless(parsed: Any) -> bool:
    """Only what is certain: a repetition without end of nothing but another one."""
    for operation, argument in parsed:
        name = str(operation)
        if name in REPEATS and argument[1] > 1000:
            inner = _alone(argument[2])
            if inner and str(inner[0]) in REPEATS and inner[1][1] > 1000:
                return True
        if any(map(_is_endless, _parts(argument))):
            return True
    return False


def _parts(argument: Any) -> list[Any]:
    """The patterns inside of an operation; those of an alternative stand in a list."""
    each = argument if isinstance(argument, tuple | list) else ()
    inner = [part for one in each for part in (one if isinstance(one, list) else [one])]
    return [part for part in inner if hasattr(part, "data")]


def _alone(parsed: Any) -> Any:
    """The one thing in it, out of its groups; None if there are several."""
    while len(parsed) == 1:
        operation, argument = parsed[0]
        if str(operation) != "SUBPATTERN":
            return operation, argument
        parsed = argument[-1]
    return None


def bounded(found: Iterable[Any], what: str) -> list[Any]:
    some = list(islice(found, MOST + 1))
    if len(some) > MOST:
        raise GiveUp(f"{what} is found more than {MOST:,} times on the page")
    return some


def _why(error: Exception) -> str:
    said = " ".join(str(error).split())
    return f" ({said[:200]})" if said else ""
