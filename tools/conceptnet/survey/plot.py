"""What a survey found as a picture: bars by relation, language, dataset and weight.

Lengths are on a logarithmic scale, because one relation may have a million times the lines of
another; the numbers stand beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...base.text import amount, clipped, plain
from ...reports.plot import BLUE, write
from .report import TITLES, shortened, tables
from .survey import Findings, Share, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL = "#cfd8dc"
MOST_ROWS = 45
MOST_DATASETS = 20
LONGEST_NAME = 26


def draw(found: Findings, picture: Path) -> None:
    """Written whole or not at all; the name says the format."""
    write(picture, lambda: figure(found))


def figure(found: Findings) -> Figure:
    from matplotlib.figure import Figure

    shown = tables(found)
    relation, language, dataset, weight = TITLES
    shown[relation] = shortened(shown[relation], MOST_ROWS)
    shown[dataset] = shortened(shown[dataset], MOST_DATASETS)
    heights = [len(shown[title]) + 4 for title in (language, dataset, weight)]
    rows = max(sum(heights), len(shown[relation]) + 4)
    drawn = Figure(figsize=(14, 1.2 + 0.2 * rows), dpi=100, layout="constrained")
    places = drawn.subplot_mosaic("ab;ac;ad", height_ratios=heights)
    for axes, (title, table) in zip(places.values(), shown.items(), strict=True):
        _bars(axes, table)
        axes.set_title(title, loc="left", fontweight="bold")
    places["a"].set_xlabel("lines, on a logarithmic scale")
    places["a"].legend(loc="lower right", frameon=False)
    drawn.suptitle(_title(found))
    return drawn


def _title(found: Findings) -> str:
    lines = amount(found.lines, "line")
    return f"{_label(found.path.name, 60)}: the filter keeps {found.kept:,} of {lines}"


def _bars(axes: Axes, rows: Table) -> None:
    places = range(len(rows))
    axes.barh(places, [share.lines for _, share in rows], color=ALL, label="all lines")
    axes.barh(places, [share.kept for _, share in rows], color=BLUE, label="kept")
    axes.set_xscale("log")
    most = max(share.lines for _, share in rows)
    axes.set_xlim(0.7, max(most, 10) ** 1.4)  # room for the numbers
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(places, [_label(name, LONGEST_NAME) for name, _ in rows])
    axes.tick_params(axis="y", length=0)
    for place, (_, share) in enumerate(rows):
        if share.lines:
            axes.text(1.25 * share.lines, place, _numbers(share), va="center", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: _short(value) if value <= most else "")
    axes.minorticks_off()


def _numbers(share: Share) -> str:
    return f"{share.kept:,} of {share.lines:,}" if share.kept else f"{share.lines:,}"


def _short(value: float) -> str:
    """
    >>> [_short(each) for each in (1, 100, 10_000, 1e6)]
    ['1', '100', '10k', '1M']
    """
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.0f}{sign}"
    return f"{value:.0f}"


def _label(name: str, room: int) -> str:
    """No font has every character."""
    return clipped(plain(name).encode("ascii", "backslashreplace").decode(), room)
