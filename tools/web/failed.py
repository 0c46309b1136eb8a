"""What failed, by reason; and those of one reason, page by page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..journal.reader import moment
from ..journal.reasons import group_of
from ..journal.schema import FAILED
from .site import Site

PAGE = 100
MOST_REASONS = 100  # that are asked for one by one
OF_REASON = (
    "SELECT uri.id, uri, coalesce(reason, 'unknown'), attempts, coalesce(name, '') FROM uri "
    f"LEFT JOIN pool ON pool.id = failed_in WHERE uri.pool = {FAILED} "
    "AND EXISTS (SELECT 1 FROM json_each(?) "
    "WHERE instr(lower(coalesce(reason, 'unknown')), lower(value))) AND uri.id > ? "
    "ORDER BY uri.id LIMIT ?"
)


class FailedUri(NamedTuple):
    id: int
    uri: str
    name: str
    reason: str
    attempts: int
    stage: str


def failed(site: Site) -> dict[str, Any]:
    view, groups = site.view(), site.failures().groups
    named = [uri for each in groups for uri, _ in each.examples]
    return {
        "groups": groups,
        "names": dict(view.job.known_as(site.file, named)) if named else {},
        "number": sum(each.number for each in groups),
    }


def failed_for(site: Site, text: str, after: int) -> dict[str, Any]:
    """Those of a group, or whose reason holds this text, in the order of their discovery, behind
    an id."""
    rows = _rows(site.file, texts_of(site, text) or [text], after)
    names = site.job.known_as(site.file, [row[1] for row in rows[:PAGE]])
    found = [
        FailedUri(id_, uri, names.get(uri, uri), reason, attempts, pool.removeprefix("to_"))
        for id_, uri, reason, attempts, pool in rows[:PAGE]
    ]
    return {
        "text": text,
        "is_group": is_known(site, text),
        "found": found,
        "next": found[-1].id if len(rows) > PAGE else None,
    }


def _rows(file: Path, texts: list[str], after: int) -> list[tuple[int, str, str, int, str]]:
    with moment(file) as db:
        return db.execute(OF_REASON, (json.dumps(texts), after, PAGE + 1)).fetchall()


def texts_of(site: Site, group: str) -> list[str]:
    """By which texts all of a group's reasons are found, and hardly any others. None: it is no
    group, or one of so rare reasons that they are not read."""
    reasons = [each for each in site.failures().reasons if group_of(each) == group]
    if reasons and all(group in each for each in reasons):
        return [group]
    return reasons[:MOST_REASONS]


def is_known(site: Site, group: str) -> bool:
    return any(each.reason_group == group for each in site.failures().groups)
