"""What was found as a value: text, number, date, address, markup or JSON.

Promise: what cannot be read as what it should be is None, never something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from lxml import etree

from .page import Page

Convert = Callable[[Any, Page], Any]

KINDS = ("text", "number", "date", "url", "html", "json")
SPACES = " \u00a0\u202f\u2009"
NUMBER = re.compile(
    rf"(?<![\w.,])([-+\u2212]?)[{SPACES}]?"
    rf"(\d{{1,60}}(?:[.,'\u2019{SPACES}]\d{{1,60}}){{0,20}}|[.,]\d{{1,60}})(?:[eE]([-+]?\d{{1,3}}))?(?!\d)"
)
GROUPS = re.compile(rf"['\u2019{SPACES}]")
MARKS = (".", ",")
LONGEST_DATE = 100
LONGEST_NUMBER = 60
ELEMENT = etree._Element
CONTENT = etree.XPath("string()", smart_strings=False)


def converter(kind: str | None, format: str | None = None) -> Convert:
    """`format` is that of a date, as strptime has it, or what stands before a number's decimals."""
    if kind == "number":
        return partial(as_number, mark=format)
    if kind == "date":
        return partial(as_date, format=format)
    named = {"text": as_text, "url": as_url, "html": as_html, "json": as_json}
    return named[kind] if kind else as_found


def as_found(value: Any, page: Page) -> Any:
    """Text without the blanks around it; what JSON gave as it is."""
    if type(value) is str:
        return value if page.format == "json" else value.strip() or None
    return as_text(value, page) if isinstance(value, ELEMENT) else value


def as_text(value: Any, page: Page) -> str | None:
    """On one line, with single blanks.

    >>> as_text(" a\\n b ", None), as_text(True, None), as_text([1], None)
    ('a b', 'true', '[1]')
    """
    return " ".join(content_of(value).split()) or None


def as_number(value: Any, page: Page, mark: str | None = None) -> int | Decimal | float | None:
    """The first in a text. Of a comma or point that stands alone, a comma before three digits
    makes thousands; `mark` says that it is the other way round.

    >>> [str(as_number(each, None)) for each in ("£ 1,234.50", "1.234,5 EUR", "-7", "1,234", "no")]
    ['1234.50', '1234.5', '-7', '1234', 'None']
    >>> str(as_number("1.234", None, ","))
    '1234'
    """
    if type(value) is not str:
        if isinstance(value, int | float | None):
            return None if isinstance(value, bool) else value
        value = content_of(value)
    if value.isdecimal() and len(value) < LONGEST_NUMBER:
        return int(value)
    found = NUMBER.search(value)
    if found is None:
        return None
    sign, digits, power = found.groups()
    if not sign and not power:  # as most are
        whole, point, decimals = digits.partition(".")
        if whole.isdecimal() and not point:
            return int(whole)
        if mark is None and whole.isdecimal() and decimals.isdecimal():
            return Decimal(digits)
    number = Decimal(_plain(GROUPS.sub("", digits), mark) + (f"e{power}" if power else ""))
    number = -number if sign in ("-", "\u2212") else number
    return (
        int(number) if number == number.to_integral_value() and "." not in str(number) else number
    )


def _plain(digits: str, mark: str | None) -> str:
    """With a point before its decimals, and nothing else between the digits."""
    present = [each for each in MARKS if each in digits]
    if mark is None and len(present) == 2:
        mark = max(MARKS, key=digits.rfind)
    if mark is None and present:
        front, _, back = digits.rpartition(present[0])
        makes_groups = digits.count(present[0]) > 1 or (
            present[0] == "," and front and len(back) == 3
        )
        mark = MARKS[present[0] == "."] if makes_groups else present[0]
    other = MARKS[mark == "."]
    whole, _, decimals = digits.replace(other, "").partition(mark or ".")
    decimals = decimals.replace(mark or ".", "")
    return f"{whole or '0'}.{decimals}" if decimals else whole


def as_date(value: Any, page: Page, format: str | None = None) -> str | None:
    """As ISO 8601 writes it: a day, or a moment if there is a time of day.

    >>> as_date("17.11.2026", None, "%d.%m.%Y"), as_date("Tue, 17 Nov 2026 05:30:00 GMT", None)
    ('2026-11-17', '2026-11-17T05:30:00+00:00')
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and format is None:
        with suppress(ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(value, UTC).isoformat()
        return None
    text = " ".join(content_of(value).split())[:LONGEST_DATE]
    if format is not None:
        with suppress(ValueError):
            return _iso(datetime.strptime(text, format), with_time="%H" in format or "%I" in format)
        return None
    with suppress(ValueError):
        return date.fromisoformat(text).isoformat()
    with suppress(ValueError):
        return datetime.fromisoformat(text).isoformat()
    with suppress(ValueError, TypeError, IndexError):
        return parsedate_to_datetime(text).isoformat()
    return None


def date_fault(format: str) -> str | None:
    """Why nothing could ever be read by this format."""
    try:
        datetime.strptime("", format)
    except ValueError as error:
        said = str(error)
        return None if "does not match" in said else f"{format!r} is no format of a date ({said})"
    return None


def _iso(moment: datetime, with_time: bool) -> str:
    return moment.isoformat() if with_time else moment.date().isoformat()


def as_url(value: Any, page: Page) -> str | None:
    reference = content_of(value).strip()
    return page.address(reference) if reference else None


def as_html(value: Any, page: Page) -> str | None:
    if not isinstance(value, ELEMENT):
        return as_found(value, page)  # type: ignore[no-any-return]
    method = "xml" if page.format == "xml" else "html"
    markup: str = etree.tostring(value, encoding="unicode", method=method, with_tail=False)
    return markup


def as_json(value: Any, page: Page) -> Any:
    """Text that holds JSON is read, such as that of a script of the page."""
    if not isinstance(value, str | ELEMENT):
        return value
    try:
        return json.loads(content_of(value))
    except (ValueError, RecursionError):
        return None


def content_of(value: Any) -> str:
    """All text in it."""
    if type(value) is str:
        return value
    if isinstance(value, ELEMENT):
        return CONTENT(value)  # type: ignore[no-any-return]
    if value is None:
        return ""
    is_plain = not isinstance(value, dict | list | bool)
    return str(value) if is_plain else json.dumps(value, ensure_ascii=False)
