"""Why things failed, in groups: reasons that differ only in addresses and the like are one.

Promise: however many failures there are, they are counted where they lie, and a few are read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from .schema import FAILED

EXAMPLES = 3
GROUPS_WITH_EXAMPLES = 20
REASONS = 1000  # the most frequent ones
LONGEST = 200  # characters of a reason that tell it from others
CUTS = ("://", " for ", " /", " (after ", "{")

# Texts are cut where addresses begin, and counted, before they come here: there may be as many
# reasons as failures.
ENDS = [f"coalesce(nullif(instr(reason, '{cut}'), 0), {LONGEST})" for cut in CUTS]
HEAD = f"substr(reason, 1, min({', '.join(ENDS)}) - 1)"
BY_HEAD = f"coalesce({HEAD}, 'unknown') IN (SELECT value FROM json_each(?2))"
FAILURES = (
    f"SELECT coalesce(reason, 'unknown'), count(*) FROM uri WHERE pool = {FAILED} "
    f"GROUP BY reason ORDER BY 2 DESC, 1 LIMIT {REASONS}"
)
HEADS = (
    f"SELECT coalesce({HEAD}, 'unknown'), count(*), min(reason) FROM uri WHERE pool = {FAILED} "
    f"GROUP BY {HEAD}"
)
FROM_REASON = (
    f"SELECT uri, coalesce(reason, 'unknown') FROM uri WHERE pool = {FAILED} AND reason >= ? "
    f"ORDER BY reason, id LIMIT {EXAMPLES}"
)
WITHOUT_REASON = (
    f"SELECT uri, 'unknown' FROM uri WHERE pool = {FAILED} AND reason IS NULL "
    f"ORDER BY id LIMIT {EXAMPLES}"
)
ADDRESS = re.compile(
    r"\s*\(after \d+ attempts\)$|\s*\(?(\bhttps?://|\bhttps?$|(?<![^\s(])/)\S*|[{\['\"].*$|:?\d{4,}"
)


class Group(NamedTuple):
    """Failures for reasons that differ only in addresses and the like."""

    reason_group: str
    number: int
    examples: list[tuple[str, str]]
    """Some URIs, each with its own reason."""


class Failures(NamedTuple):
    """All of them: by reason, the most frequent ones, and by group. `heads`: how the reasons of
    each group begin, up to the first address; by these they are found again, and no others."""

    reasons: dict[str, int]
    groups: list[Group]
    heads: Mapping[str, Sequence[str]] = MappingProxyType({})


@lru_cache(maxsize=4096)
def reason_group(reason: str) -> str:
    """A reason without what differs from URI to URI, so that reasons can be counted.

    >>> reason_group("HTTP 404 for http://example.org/dog"), reason_group("no name: http://a.b/c")
    ('HTTP 404', 'no name')
    >>> reason_group("api.conceptnet.io answered HTTP 500 (after 5 attempts)")
    'api.conceptnet.io answered HTTP 500'
    >>> reason_group("api.conceptnet.io: no answer within 60 s")
    'api.conceptnet.io: no answer within 60 s'
    >>> reason_group("example.org:8080: connection lost")
    'example.org: connection lost'
    """
    general = ADDRESS.sub("", reason[:LONGEST].partition(" for ")[0])
    return general.strip(" :,;(") or reason[:LONGEST]


def failures_in(db: sqlite3.Connection) -> Failures:
    counts: dict[str, int] = {}
    firsts: dict[str, str | None] = {}
    heads: dict[str, list[str]] = {}
    for head, count, first in db.execute(HEADS):
        general = reason_group(head) or "various"
        counts[general] = counts.get(general, 0) + count
        firsts.setdefault(general, first)
        heads.setdefault(general, []).append(head)
    return Failures(dict(db.execute(FAILURES)), _groups(db, counts, firsts), heads)


def _groups(
    db: sqlite3.Connection, counts: Mapping[str, int], firsts: Mapping[str, str | None]
) -> list[Group]:
    """The most frequent first; the first ones with examples."""
    frequent = sorted(counts, key=lambda each: (-counts[each], each))
    shown = frequent[:GROUPS_WITH_EXAMPLES]
    return [
        Group(each, counts[each], _examples(db, firsts[each]) if each in shown else [])
        for each in frequent
    ]


def _examples(db: sqlite3.Connection, first: str | None) -> list[tuple[str, str]]:
    """From there on by the index: what begins alike stands together."""
    if first is None:
        return db.execute(WITHOUT_REASON).fetchall()
    rows = db.execute(FROM_REASON, (first,)).fetchall()
    return [row for row in rows if reason_group(row[1]) == reason_group(first)]
