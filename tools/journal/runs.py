"""The runs of a harvest: when each began, how long it took and how far it came."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .reader import counts_in, moment

# From run to run by the key, as many samples as there may be of each.
RUNS = """WITH RECURSIVE each_(run) AS (
    SELECT max(run) FROM sample
    UNION ALL SELECT (SELECT max(run) FROM sample WHERE run < each_.run) FROM each_
    WHERE each_.run IS NOT NULL)
SELECT run FROM each_ WHERE run IS NOT NULL LIMIT ?"""
END = "SELECT elapsed, time, counts, requests, bytes FROM sample WHERE run = ? ORDER BY elapsed"


class Run(NamedTuple):
    """`counts`, `requests` and `bytes` are what it added to those of the runs before."""

    number: int
    begun: float
    seconds: float
    counts: Mapping[str, int]
    requests: int
    bytes: int


def runs_in(file: Path, most: int) -> list[Run]:
    """The last ones first."""
    with moment(file) as db:
        numbers = [row[0] for row in db.execute(RUNS, (most + 1,))]
        ends = [db.execute(f"{END} DESC LIMIT 1", (each,)).fetchone() for each in numbers]
    found = []
    for at, number in enumerate(numbers[:most]):
        elapsed, time, counts, requests, size = ends[at]
        before = ends[at + 1] if at + 1 < len(ends) else (0, 0, "{}", 0, 0)
        gained = _gained(counts_in(before[2]), counts_in(counts))
        begun = time - elapsed
        found.append(Run(number, begun, elapsed, gained, requests - before[3], size - before[4]))
    return found


def tally_in(snapshot: Path) -> dict[str, int]:
    """What was counted up to this copy of a state."""
    with moment(snapshot) as db:
        return counts_in(db.execute("SELECT counts FROM tally").fetchone()[0])


def _gained(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """
    >>> _gained({"done_fetch": 1, "failed": 2}, {"done_fetch": 5, "failed": 2})
    {'done_fetch': 4}
    """
    return {name: n - before.get(name, 0) for name, n in after.items() if n != before.get(name, 0)}
