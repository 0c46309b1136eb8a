"""Runs and snapshots: when, how long, what each brought, and which settings changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import HarvestError
from ..journal.check import Copy
from ..journal.runs import runs_in, tally_in
from ..journal.timings import is_timing
from .log_file import Beginning, beginnings
from .site import Site

MOST_RUNS, MOST_COPIES = 20, 24


class Change(NamedTuple):
    """How a run was begun, and what of its settings the one before did not have, or had."""

    beginning: Beginning
    added: Sequence[str]
    removed: Sequence[str]


class CopySeen(NamedTuple):
    name: str
    time: float
    size: int
    known: int
    changed: Mapping[str, int]


def runs(site: Site) -> dict[str, Any]:
    view, found = site.view(), runs_in(site.file, MOST_RUNS)
    return {
        "runs": [each._replace(counts=_shown(each.counts)) for each in found],
        "beginnings": _changes(beginnings(site.state / "log", MOST_RUNS)),
        "snapshots": _copies(site, list(view.copies)[-MOST_COPIES - 1 :])[:MOST_COPIES],
        "now": view.now,
    }


def _changes(found: Sequence[Beginning]) -> list[Change]:
    """The last one first; the first has nothing before it."""
    changes = [
        Change(
            each,
            [text for text in each.changed if text not in before.changed],
            [text for text in before.changed if text not in each.changed],
        )
        for each, before in pairwise(found)
    ]
    return [*changes, *(Change(each, each.changed, ()) for each in found[-1:])]


def _copies(site: Site, copies: Sequence[Copy]) -> list[CopySeen]:
    """Each with what changed since the one before it, the last one first."""
    found: list[CopySeen] = []
    before: Mapping[str, int] = {}
    for copy in copies:
        try:
            counts = _tally(site.state / "snapshots" / copy.name, copy.time, copy.size)
        except HarvestError:  # thinned out meanwhile, or damaged: `history --check` says so
            continue
        names = [*dict.fromkeys((*before, *counts))]
        steps = {name: counts.get(name, 0) - before.get(name, 0) for name in names}
        known = sum(n for name, n in counts.items() if _is_pool(name))
        found.append(CopySeen(*copy, known, _shown({k: n for k, n in steps.items() if n})))
        before = counts
    return found[::-1]


@lru_cache(2 * MOST_COPIES)
def _tally(file: Path, _time: float, _size: int) -> Mapping[str, int]:
    """A snapshot never changes."""
    return tally_in(file)


def _is_pool(name: str) -> bool:
    return name in ("finished", "failed") or name.startswith("to_")


def _shown(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name, n in counts.items() if not is_timing(name)}
