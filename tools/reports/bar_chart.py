"""Numbers by name as a picture: a bar each, the first on top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .plot import BLUE, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_INCHES, HEAD_INCHES = 0.26, 0.9


def draw_bars(rows: Sequence[tuple[str, float]], picture: Path, title: str) -> None:
    if not rows:
        raise UsageError("nothing to plot yet")
    write(picture, lambda: bars_figure(rows, title))


def bars_figure(rows: Sequence[tuple[str, float]], title: str) -> Figure:
    from matplotlib.figure import Figure

    height = HEAD_INCHES + ROW_INCHES * len(rows)
    drawn = Figure(figsize=(7, height), dpi=120, layout="constrained")
    axes = drawn.subplots()
    names, numbers = [name for name, _ in rows], [number for _, number in rows]
    bars = axes.barh(range(len(rows)), numbers, color=BLUE)
    axes.bar_label(bars, labels=[f"{number:,.10g}" for number in numbers], padding=3)
    axes.set_yticks(range(len(rows)), labels=names)
    axes.invert_yaxis()
    axes.margins(x=0.12, y=0.01)
    axes.xaxis.set_visible(False)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_title(title, loc="left")
    return drawn
