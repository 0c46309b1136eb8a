"""What of a structure people and the live page look at, read from its state."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ..base.text import clipped, date, duration, size
from ..engine.description import Pace
from ..engine.panel import Panel
from ..settings import Settings
from ..structure.status import STATUSES, ExportSeen, exports_in, parsers_in, queues_in, statuses_in

LAST = 10
MOST_EXPORTS = 500
NAME = 40  # characters


def views_of(pools_file: Path, pace: Pace) -> Sequence[Panel]:
    state = pools_file.parent
    return (_queues(pools_file, pace), _parsers(state), _exports(state))


def details_of(settings: Settings) -> Sequence[Panel]:
    """Documents by status, and what did not fit of those exported last."""
    file = settings.pools_file
    if not file.exists():
        return ()
    statuses = [(STATUSES[each], n) for each, n in statuses_in(file).items()]
    exports = [each for each in exports_in(settings.state, MOST_EXPORTS) if each.problems]
    problems = [(_name(each), each.problems, each.reason or "") for each in exports]
    return (
        Panel("Documents by status", "bars", statuses),
        Panel("Problems of the last exports", "table", problems, ("problems", "reason")),
    )


def _queues(pools_file: Path, pace: Pace) -> Panel:
    now = time.time()
    rows = [
        (
            each.name,
            each.waiting,
            each.running,
            _a_minute(pace(each.name)),
            "-" if each.oldest is None else duration(now - each.oldest),
        )
        for each in queues_in(pools_file)
    ]
    return Panel("Queues", "table", rows, ("waiting", "running", "a minute", "oldest"))


def _a_minute(a_second: float | None) -> str:
    return "-" if a_second is None else f"{60 * a_second:,.0f}"


def _parsers(state: Path) -> Panel:
    rows = [
        (
            each.name,
            each.documents,
            f"{each.mean_s:.3f} s",
            f"{each.slowest_s:.3f} s",
            _memory(each.memory),
        )
        for each in parsers_in(state, LAST)
    ]
    return Panel("Parsers", "table", rows, ("documents", "mean", "slowest", "memory"))


def _memory(memory: int) -> str:
    return size(memory) if memory else "-"


def _exports(state: Path) -> Panel:
    rows = [
        (
            _name(each),
            date(each.at),
            each.status,
            each.rows,
            each.problems,
        )
        for each in exports_in(state, LAST)
    ]
    return Panel("Exports", "table", rows, ("at", "status", "rows", "problems"))


def _name(export: ExportSeen) -> str:
    return clipped(export.source or export.document, NAME)
