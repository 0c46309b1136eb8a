"""The processes that work for a harvest, for people."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.text import ago, amount, date, plain, size
from ..journal.processes import Process
from .tables import Row, beside, table

MOST_LINES = 4
HEAD = ("", "at work", "per minute", "memory", "deaths", "since")


def section(processes: Sequence[Process], now: float) -> list[str]:
    """Of a report; none if there are no processes."""
    if not processes:
        return []
    rows: list[Row] = [HEAD, *map(_row, processes)]
    dead = [f"  {_death(each, now)}" for each in processes if each.died_at is not None]
    return [*beside("Processes", table(rows)), *dead]


def lines(processes: Sequence[Process]) -> list[str]:
    """For whoever looks on: one of each, or if they are many one of all.

    >>> lines([Process("process 1", 1e9, 3, 1200, 64_000_000, 1, 1e9, "it was silent")])
    ['process 1: 3 at work, 1,200/min, 64 MB, 1 death']
    """
    if len(processes) <= MOST_LINES:
        return [_line(each.name, [each]) for each in processes]
    return [_line(f"{len(processes):,} processes", processes)]


def _line(name: str, processes: Sequence[Process]) -> str:
    at_work, done = sum(each.at_work for each in processes), sum(p.per_minute for p in processes)
    memory, deaths = sum(each.memory for each in processes), sum(each.deaths for each in processes)
    is_there = any(each.since is not None for each in processes)
    parts = [f"{at_work} at work", f"{done:,}/min", size(memory) if is_there else "not running"]
    return f"{plain(name)}: {', '.join(parts)}" + (f", {amount(deaths, 'death')}" if deaths else "")


def _row(each: Process) -> Row:
    since = "not running" if each.since is None else date(each.since)
    numbers = f"{each.at_work:,}", f"{each.per_minute:,}", size(each.memory), f"{each.deaths:,}"
    return plain(each.name), *numbers, since


def _death(each: Process, now: float) -> str:
    return f"{plain(each.name)} died {ago(now - (each.died_at or 0.0))}: {plain(each.why)}"
