"""Records of a page as JSON, and back: the same ones, field by field.

Promise: what comes is looked at as a stranger's: each field is of its kind and its length, an
address is one that can be asked for, and nobody says where in the archive anything lies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from ..documents.address import LONGEST, absolute
from .page import (
    Analysed,
    Captured,
    Child,
    Controlled,
    Failed,
    Fetched,
    HostNews,
    Link,
    Record,
    Unchanged,
)

LONGEST_TEXT = 100_000
LONGEST_ROBOTS = 1_000_000
LARGEST = 2**53
MOST_LINKS, MOST_WORDS = 100_000, 1_000_000
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
KIND = re.compile(r"[a-z ]{1,30}")

Check = Callable[[Any], Any]


def record_said(record: Record) -> list[Any]:
    """TypeError if it is one that nobody sends."""
    if type(record) not in CHECKS:
        raise TypeError(f"{type(record).__name__} does not travel")
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    if values.get("captures") or values.get("extra"):
        raise TypeError("what belongs to one machine does not travel")
    return [type(record).__name__, {name: _plain(value) for name, value in values.items()}]


def record_told(said: Any) -> Record:
    """ValueError unless it is one."""
    if not isinstance(said, list) or len(said) != 2 or not isinstance(said[0], str):
        raise ValueError("no record")
    kind = KINDS.get(said[0])
    if kind is None or not isinstance(said[1], dict) or said[1].keys() != CHECKS[kind].keys():
        raise ValueError(f"no record: {said[0][:40]!r}")
    record: Record = kind(**{name: check(said[1][name]) for name, check in CHECKS[kind].items()})
    return record


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    is_many = isinstance(value, Sequence) and not isinstance(value, str)
    return [_plain(each) for each in value] if is_many else value


# --- what a field may be -----------------------------------------------------------------------


def text(most: int = LONGEST_TEXT) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise ValueError("a text that is none, or too long")
        return value

    return check


def like(pattern: re.Pattern[str]) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError("a text that is not written like that")
        return value

    return check


def whole(least: int, most: int = LARGEST) -> Check:
    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError("a number that cannot be")
        return value

    return check


def number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= LARGEST:
        raise ValueError("a number that cannot be")
    return float(value)


def figure(value: Any) -> float:
    """As a host gives it, however large."""
    if type(value) not in (int, float):
        raise ValueError("no number")
    return float(value)


def maybe(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def only(wanted: Any) -> Check:
    """What has to stay as it is until it is here."""

    def check(value: Any) -> Any:
        if value != wanted:
            raise ValueError("what nobody else can know")
        return () if wanted == [] else wanted

    return check


def a_moment(value: Any) -> str:
    told: str = like(MOMENT)(value)
    datetime.fromisoformat(told)
    return told


def address(value: Any) -> str:
    told: str = text(LONGEST)(value)
    if absolute(told) is None:
        raise ValueError("an address that is none")
    return told


def many(check: Check, most: int = MOST_LINKS) -> Check:
    def all_of(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise ValueError("a list that is none, or too long")
        return [check(each) for each in value]

    return all_of


def link(value: Any) -> Link:
    if not isinstance(value, list) or len(value) != len(Link._fields):
        raise ValueError("a link that is none")
    return Link(url(value[0]), address(value[1]), like(KIND)(value[2]), flag(value[3]))


def child(value: Any) -> Child:
    if not isinstance(value, list) or len(value) != len(Child._fields):
        raise ValueError("a page that is none")
    return Child(url(value[0]), address(value[1]), tuple(many(url)(value[2])))


def words(value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or len(value) > MOST_WORDS:
        raise ValueError("words that are none")
    return {text(LONGEST)(word): whole(1)(times) for word, times in value.items()}


url = text(LONGEST)
status, short = whole(100, 999), text(LONGEST)
CHECKS: Mapping[type[Any], Mapping[str, Check]] = {
    Fetched: {
        "url": url,
        "fetched_at": a_moment,
        "address": address,
        "status": maybe(status),
        "content_type": maybe(short),
        "charset": only(None),
        "bytes": maybe(whole(0)),
        "digest": maybe(like(DIGEST)),
        "etag": maybe(text()),
        "last_modified": maybe(text()),
        "redirect": maybe(address),
        "remark": only(None),
        "captures": only([]),
        "final": flag,
        "links": many(link),
        "stale_before": maybe(a_moment),
    },
    Unchanged: {"url": url, "fetched_at": a_moment, "captures": only([])},
    Analysed: {
        "url": url,
        "links": many(link),
        "words": words,
        "title": maybe(text()),
        "charset": maybe(short),
        "canonical": maybe(text()),
        "remark": maybe(short),
        "extra": only(None),
    },
    Failed: {
        "url": url,
        "remark": short,
        "status": maybe(status),
        "fetched_at": maybe(a_moment),
        "captures": only([]),
        "stale_before": maybe(a_moment),
    },
    Controlled: {"url": url, "children": many(child)},
    Captured: {"captures": only([])},
    HostNews: {
        "name": short,
        "scheme": maybe(short),
        "robots": maybe(text(LONGEST_ROBOTS)),
        "robots_at": maybe(number),
        "crawl_delay": maybe(figure),
        "rests_until": only(None),
        "reason": only(None),
        "pages": whole(0, 1),
        "failures": whole(0, 1),
        "bytes": whole(0),
        "seconds": number,
    },
}
KINDS = {kind.__name__: kind for kind in CHECKS}
