"""How many tasks of a stage ended how, and how long they took: names in the tally of a state.

They stand beside what jobs count, and are no matter for the views of a job.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import Literal, get_args

Outcome = Literal["done", "retried", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
TASKS, MICROSECONDS, UP_TO = "tasks ", "us ", "up to "
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds: how many tasks took no longer is known for each."""
NAMES = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")


def timed(stage: str, outcome: Outcome, seconds: float) -> dict[str, int]:
    """To be added to the tally for one task.

    >>> timed("fetch", "done", 0.25)
    {'tasks fetch done': 1, 'up to fetch 0.25': 1, 'us fetch done': 250000}
    """
    return {
        f"{TASKS}{stage} {outcome}": 1,
        f"{UP_TO}{stage} {NAMES[bisect_left(BOUNDS, seconds)]}": 1,
        f"{MICROSECONDS}{stage} {outcome}": round(1e6 * seconds),
    }


def tasks(counts: Mapping[str, int], stage: str, outcome: Outcome) -> int:
    return counts.get(f"{TASKS}{stage} {outcome}", 0)


def seconds(counts: Mapping[str, int], stage: str) -> float:
    """However they ended."""
    names = [f"{MICROSECONDS}{stage} {outcome}" for outcome in OUTCOMES]
    return sum(counts.get(name, 0) for name in names) / 1e6


def spread(counts: Mapping[str, int], stage: str) -> list[tuple[str, int]]:
    """For each bound, how many took no longer, however they ended. What ended before that was
    counted is known to have ended only.

    >>> spread({"up to fetch 0.01": 2, "up to fetch 300": 1, "tasks fetch done": 4}, "fetch")[::7]
    [('0.005', 0), ('1', 2), ('+Inf', 4)]
    """
    each = accumulate(counts.get(f"{UP_TO}{stage} {name}", 0) for name in NAMES[:-1])
    ended = sum(tasks(counts, stage, outcome) for outcome in OUTCOMES)
    return list(zip(NAMES, [*each, ended], strict=True))


def is_timing(name: str) -> bool:
    return name.startswith((TASKS, MICROSECONDS, UP_TO))
