"""How far a task is, by depth: read from its state without making anybody wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..journal.reader import moment
from .request import Layer

COUNTS = """SELECT depth, substr(uri, 1, instr(uri, ' ') - 1), iif(lease.id, 'on_visit', pool.name),
count(*) FROM uri JOIN pool ON pool.id = uri.pool LEFT JOIN lease ON lease.id = uri.id
GROUP BY 1, 2, 3"""
REASONS = """SELECT depth, coalesce(reason, 'unknown'), count(*) FROM uri
JOIN pool ON pool.id = uri.pool WHERE pool.name = 'failed' GROUP BY 1, 2 ORDER BY 3 DESC"""
COLUMNS = {"to_visit": "unvisited", "on_visit": "visiting", "finished": "done", "failed": "failed"}
MOST_REASONS = 3


@dataclass(slots=True)
class Depth:
    layers: list[str] = field(default_factory=list)
    unvisited: int = 0
    visiting: int = 0
    done: int = 0
    failed: int = 0
    reasons: list[tuple[str, int]] = field(default_factory=list)


def depths_in(pools_file: Path, layers: Mapping[Layer, int]) -> dict[int, Depth]:
    """By depth; `layers` are those the task has, whether anything of them is known or not."""
    found: dict[int, Depth] = {}
    for layer, deep in layers.items():
        found.setdefault(deep, Depth()).layers.append(str(layer))
    with moment(pools_file) as db:
        for deep, layer, pool, number in db.execute(COUNTS):
            depth = found.setdefault(deep, Depth())
            if layer not in depth.layers:
                depth.layers.append(layer)
            name = COLUMNS[pool]
            setattr(depth, name, getattr(depth, name) + number)
        for deep, reason, number in db.execute(REASONS):
            if len(found[deep].reasons) < MOST_REASONS:
                found[deep].reasons.append((reason, number))
    return dict(sorted(found.items()))
