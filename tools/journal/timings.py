"""How many tasks of a stage ended how, and how long they took: names in the tally of a state.

They stand beside what jobs count, and are no matter for the views of a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Outcome = Literal["done", "retried", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
TASKS, MILLISECONDS = "tasks ", "ms "


def timed(stage: str, outcome: Outcome, seconds: float) -> dict[str, int]:
    """To be added to the tally for one task.

    >>> timed("fetch", "done", 0.25)
    {'tasks fetch done': 1, 'ms fetch done': 250}
    """
    return {
        f"{TASKS}{stage} {outcome}": 1,
        f"{MILLISECONDS}{stage} {outcome}": round(1000 * seconds),
    }


def tasks(counts: Mapping[str, int], stage: str, outcome: Outcome) -> int:
    return counts.get(f"{TASKS}{stage} {outcome}", 0)


def seconds(counts: Mapping[str, int], stage: str) -> float:
    """However they ended."""
    names = [f"{MILLISECONDS}{stage} {outcome}" for outcome in OUTCOMES]
    return sum(counts.get(name, 0) for name in names) / 1000


def is_timing(name: str) -> bool:
    return name.startswith((TASKS, MILLISECONDS))
