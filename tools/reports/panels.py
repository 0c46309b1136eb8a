"""A job's own views as lines of text."""

from __future__ import annotations

from ..base.text import plain
from ..engine.panel import Cell, Panel
from .tables import beside, table, titled

LONGEST_BAR = 30


def lines_of(panel: Panel) -> list[str]:
    """None of a curve, which is for pictures, nor of a panel without rows."""
    if panel.kind == "curve" or not panel.rows:
        return []
    title, rows = plain(panel.title), [tuple(map(_text, row)) for row in panel.rows]
    if panel.kind == "bars":
        most = max((_number(row[1]) for row in panel.rows), default=0) or 1
        bars = ["#" * round(LONGEST_BAR * _number(row[1]) / most) for row in panel.rows]
        rows = [(*row, bar) for row, bar in zip(rows, bars, strict=True)]
        return titled(title, table(rows, left=(0, 2)))
    if panel.head:
        return beside(title, table([("", *map(plain, panel.head)), *rows]))
    return titled(title, table(rows))


def _text(value: Cell) -> str:
    return plain(value) if isinstance(value, str) else f"{value:,}"


def _number(value: Cell) -> int:
    return value if isinstance(value, int) else 0
