"""Why things failed, in groups: reasons that differ only in hosts, addresses and the like are one.

Promise: however many failures there are, they are counted where they lie, and a few are read;
however many groups, the most frequent ones are told, and how many more there are.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from ..base.why import Why
from .schema import FAILED

EXAMPLES = 3
LOOKED_AT = 100  # failures, for the examples of a group: hosts fail for this and that
GROUPS_WITH_EXAMPLES = 20
MOST_GROUPS = 200
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
    f"ORDER BY reason, id LIMIT {LOOKED_AT}"
)
WITHOUT_REASON = (
    f"SELECT uri, 'unknown' FROM uri WHERE pool = {FAILED} AND reason IS NULL "
    f"ORDER BY id LIMIT {EXAMPLES}"
)
ADDRESS = re.compile(
    r"\s*\(after \d+ attempts\)$|\s*\(?(\bhttps?://|\bhttps?$|(?<![^\s(])/)\S*|[{\['\"].*$"
    # Numbers and ports, but not in the name of a host: it would be another's.
    r"|:?(?<!\d)\d{4,}+(?![\w.-]*\.[a-zA-Z])"
)
# Only what is said of hosts: others begin with a file, a table or robots.txt, which matter.
OF_A_HOST = re.compile(rf"(?:^|: )\S+: ({'|'.join(Why)})(?=$|,| \()")


class Group(NamedTuple):
    """Failures for reasons that differ only in addresses and the like."""

    reason_group: str
    number: int
    examples: list[tuple[str, str]]
    """Some URIs, each with its own reason."""


class RareGroups(NamedTuple):
    """Those behind the most frequent ones."""

    groups: int = 0
    failures: int = 0


class Failures(NamedTuple):
    """All of them: by reason and by group, the most frequent ones. `heads`: how the reasons of
    each group begin, up to the first address; by these they are found again, and no others."""

    reasons: dict[str, int]
    groups: list[Group]
    heads: Mapping[str, Sequence[str]] = MappingProxyType({})
    rare_groups: RareGroups = RareGroups()


@lru_cache(maxsize=4096)
def reason_group(reason: str) -> str:
    """A reason without what differs from URI to URI, so that reasons can be counted. Of what was
    said of a host a part is left as it stands there, so that `retry --reason` finds it too.

    >>> reason_group("HTTP 404 for http://example.org/dog"), reason_group("no name: http://a.b/c")
    ('HTTP 404', 'no name')
    >>> reason_group("api.conceptnet.io answered HTTP 500 (after 5 attempts)")
    'api.conceptnet.io answered HTTP 500'
    >>> reason_group("api.conceptnet.io: no answer within 60 s")
    'api.conceptnet.io: no answer within 60 s'
    >>> reason_group("example.org:8080: connection lost"), reason_group("a.py:7: KeyError: 'x'")
    ('connection lost', 'a.py:7: KeyError')
    >>> reason_group("robots.txt could not be had: example.org: no such name (gaierror)")
    'no such name'
    """
    if said := OF_A_HOST.search(reason[:LONGEST]):
        return said[1]
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
    frequent = sorted(counts, key=lambda each: (-counts[each], each))
    shown, others = frequent[:MOST_GROUPS], frequent[MOST_GROUPS:]
    groups = [
        Group(each, counts[each], _examples(db, firsts[each]) if at < GROUPS_WITH_EXAMPLES else [])
        for at, each in enumerate(shown)
    ]
    rare = RareGroups(len(others), sum(counts[each] for each in others))
    return Failures(dict(db.execute(FAILURES)), groups, heads, rare)


def _examples(db: sqlite3.Connection, first: str | None) -> list[tuple[str, str]]:
    """From there on by the index: what begins alike stands together."""
    if first is None:
        return db.execute(WITHOUT_REASON).fetchall()
    group = reason_group(first)
    rows = db.execute(FROM_REASON, (first,))
    return list(islice((row for row in rows if reason_group(row[1]) == group), EXAMPLES))
