"""What the tables of a task hold, for whoever looks at it from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..engine.panel import Cell, Panel
from ..layers.look import Depth, depths_in
from ..settings import Settings
from ..tables.rows import TableCount
from ..tables.target import visit_target
from .layers_task import database_in, is_server
from .named_tables import counts_of

OF_DEPTHS = ("unvisited", "visiting", "done", "failed", "why")


def counts_in(settings: Settings) -> Mapping[str, TableCount] | None:
    """By what the state says of itself; None if there is nothing yet."""
    return counts_of(settings, settings.layers.password_file)


def details_of_task(settings: Settings) -> Sequence[Panel]:
    """How far each depth is, and how full the tables are."""
    if not settings.pools_file.exists():
        return ()
    depths = depths_in(settings.pools_file, {})
    counts = counts_in(settings) or {}
    rows = [(name, each.rows, _filled(each)) for name, each in counts.items()]
    return (
        Panel("Depths", "table", [_depth(deep, each) for deep, each in depths.items()], OF_DEPTHS),
        Panel("Tables", "table", rows, ("rows", "filled")),
    )


def _depth(deep: int, each: Depth) -> tuple[Cell, ...]:
    reasons = ", ".join(f"{number:,} x {reason}" for reason, number in each.reasons)
    numbers = each.unvisited, each.visiting, each.done, each.failed
    return f"depth {deep}: {', '.join(each.layers)}", *numbers, reasons


def _filled(count: TableCount) -> str:
    """Columns that some rows have nothing in."""
    lacking = {column: n for column, n in count.filled.items() if n < count.rows}
    shares = [f"{column} {int(100 * n / count.rows)} %" for column, n in lacking.items()]
    return ", ".join(shares) or ("all" if count.rows else "-")


def require_answer(settings: Settings) -> None:
    """Unreachable if a server does not answer."""
    database = database_in(settings)
    if is_server(database.url):
        target = visit_target(database.url, settings.state, database.password_file)
        if target is not None:
            target.close()
