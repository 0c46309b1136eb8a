"""What failed, by reason; and those of one reason, page by page."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from ..journal.reader import moment
from ..journal.reasons import BY_HEAD
from ..journal.schema import FAILED
from .site import Site

PAGE = 100
FEW = 50_000  # failures, which are found by their index; more, by going through all URIs
STEP, LONGEST_S = 100_000, 0.15  # URIs, and seconds of processor time for all steps
OF_TEXT = "(instr(lower(coalesce(reason, 'unknown')), lower(?2)) OR instr(lower(uri), lower(?2)))"
FOUND = (
    "SELECT uri.id, uri, coalesce(reason, 'unknown'), attempts, coalesce(name, '') FROM uri {} "
    f"LEFT JOIN pool ON pool.id = failed_in WHERE uri.pool = {FAILED} AND {{}} "
    "AND uri.id > ?1 AND uri.id <= ?3 ORDER BY uri.id LIMIT ?4"
)
NUMBER = (
    f"SELECT (SELECT count(*) FROM uri INDEXED BY failures WHERE pool = {FAILED}), "
    "(SELECT max(id) FROM uri)"
)


Row = tuple[int, str, str, int, str]


class Hits(NamedTuple):
    """`after`: behind which id there are more, or may be; None behind the last one."""

    rows: list[Row]
    after: int | None


class FailedUri(NamedTuple):
    id: int
    uri: str
    name: str
    reason: str
    attempts: int
    stage: str


def failed(site: Site) -> dict[str, Any]:
    """The most frequent groups; `left_out`: how many more there are, and of how many failures."""
    view, failures = site.view(), site.failures()
    groups, rare = failures.groups, failures.rare_groups
    named = [uri for each in groups for uri, _ in each.examples]
    return {
        "groups": groups,
        "names": dict(view.job.known_as(site.file, named)) if named else {},
        "number": sum(each.number for each in groups) + rare.failures,
        "left_out": rare,
    }


def failed_for(site: Site, text: str, after: int) -> dict[str, Any]:
    """Those of a group, or whose reason or URI holds this text, in the order of their discovery,
    behind an id. `is_cut`: there may be more, as it took too long to look for them."""
    heads = site.failures().heads.get(text)
    if heads is None:
        hits = _hits(site.file, OF_TEXT, text, after)
    else:
        hits = _hits(site.file, BY_HEAD, json.dumps(heads), after)
    names = site.job.known_as(site.file, [row[1] for row in hits.rows])
    found = [
        FailedUri(id_, uri, names.get(uri, uri), reason, attempts, pool.removeprefix("to_"))
        for id_, uri, reason, attempts, pool in hits.rows
    ]
    return {
        "text": text,
        "is_group": heads is not None,
        "found": found,
        "next": hits.after,
        "is_cut": hits.after is not None and len(found) < PAGE,
    }


def _hits(file: Path, which: str, said: str, after: int) -> Hits:
    """In steps, as there may be millions to go through."""
    begun, found = time.thread_time(), list[Row]()
    with moment(file) as db:
        number, last = db.execute(NUMBER).fetchone()
        is_few = number <= FEW
        asked = FOUND.format("INDEXED BY failures" if is_few else "NOT INDEXED", which)
        while after < (last or 0):
            until = last if is_few else after + STEP
            found += db.execute(asked, (after, said, until, PAGE + 1 - len(found)))
            if len(found) > PAGE:
                return Hits(found[:PAGE], found[PAGE - 1][0])
            after = until
            if time.thread_time() - begun > LONGEST_S and after < last:
                return Hits(found, after)
    return Hits(found, None)
