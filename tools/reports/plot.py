"""The course of a harvest as a picture: its pools, how fast it went, its job's own curves.

The horizontal axis is time worked, so that several runs join; dotted lines show where one began.
However many samples there are, a few hundred points are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import extras
from ..base.files import whole_file
from ..base.text import amount, date, duration
from ..engine.description import Description
from ..engine.panel import Panel
from ..errors import UsageError
from ..journal.sample import Sample
from . import rates
from .rates import Course, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
POINTS = 400
PARTS = 160  # in which the pace is measured: fewer, or it would be noise
RESTARTS = 60  # more lines than this would be a grey wall
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
# Okabe and Ito: told apart by those who see no red or no green, too.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"),
)
ENDS = ("finished", "failed")
GREY = "#777777"
STAGES = (BLUE, ORANGE, PURPLE, SKY)
PARTS_OF_A_WHOLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)
STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and fonts are the viewer's
    "svg.hashsalt": "sheaf",
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "text.parse_math": False,  # a dollar is a dollar
}


def draw(samples: Sequence[Sample], picture: Path, job: Description) -> None:
    format_of(picture)
    course = Course(samples)
    if len(samples) < 2 or not course.seconds:
        raise UsageError("nothing to plot yet: the harvest has only begun")
    write(picture, lambda: figure(course, job))


def format_of(picture: Path) -> str:
    """By the end of its name."""
    format_ = picture.suffix.removeprefix(".").lower()
    if format_ not in FORMATS:
        raise UsageError(f"a picture is FILE.svg or FILE.png, not {picture.name!r}")
    return format_


def write(picture: Path, make: Callable[[], Figure]) -> None:
    """Whole or not at all."""
    format_ = format_of(picture)
    with extras.named():
        import matplotlib
    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]
        _save(make(), picture, format_)


def _save(drawn: Figure, picture: Path, format_: str) -> None:
    facts = {"Date": None} if format_ == "svg" else None
    try:
        with whole_file(picture, durable=False) as part:
            drawn.savefig(part, format=format_, metadata=facts)
    except OSError as error:
        raise UsageError(f"{picture} cannot be written: {error.strerror}") from error


def figure(course: Course, job: Description) -> Figure:
    """Pools, pace, and each curve that the job has of its own."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    curves = [each for each in job.panels(course.samples[-1].counts) if each.kind == "curve"]
    height = 2 + len(curves)
    drawn = Figure(figsize=(10, 3 * height), dpi=120, layout="constrained")
    above, middle, *others = all_ = list(drawn.subplots(height, 1, sharex=True))
    below = all_[-1]
    _draw_pools(above, course)
    _draw_pace(middle, course, job)
    for axes, panel in zip(others, curves, strict=True):
        _draw_curve(axes, course, panel, job)
    for axes in all_:
        _mark_restarts(axes, course, "a run began" if axes is above else None)
        _dress(axes)
    seconds, unit = _unit(course.seconds)
    below.set_xlabel(f"{unit} worked")
    below.set_xlim(course.worked[0] / seconds, course.worked[-1] / seconds)
    ticks = MaxNLocator(nbins=12, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
    below.xaxis.set_major_locator(ticks)
    drawn.suptitle(_title(course))
    return drawn


def _title(course: Course) -> str:
    runs = amount(len(course.restarts) + 1, "run")
    first, last = (date(course.samples[at].time) for at in (0, -1))
    return f"{duration(course.seconds)} worked in {runs}, {first} to {last}"


def _unit(seconds: float) -> tuple[float, str]:
    if seconds >= 4 * DAY:
        return DAY, "days"
    if seconds >= 3 * HOUR:
        return HOUR, "hours"
    return (MINUTE, "minutes") if seconds >= 5 * MINUTE else (1.0, "seconds")


def _moments(course: Course, parts: int) -> list[float]:
    """Equal distances, but none shorter than the samples."""
    parts = max(1, min(parts, len(course.samples) - 1))
    return [course.worked[0] + course.seconds * at / parts for at in range(parts + 1)]


def _draw_pools(axes: Axes, course: Course) -> None:
    moments = _moments(course, POINTS)
    stages = rates.stages(course.samples[-1].counts)
    values: dict[str, tuple[Value, str | None]] = {
        f"to_{stage}": (rates.waiting(stage), colour) for stage, colour in _coloured(stages)
    }
    values |= {name: (_count(name), {"finished": GREEN, "failed": RED}[name]) for name in ENDS}
    _lines(axes, moments, course, values)
    axes.set_title("Pools: URIs that wait, are finished or failed", loc="left")


def _coloured(stages: Sequence[str]) -> list[tuple[str, str | None]]:
    return list(zip_longest(stages, STAGES[: len(stages)]))


def _lines(
    axes: Axes,
    moments: Sequence[float],
    course: Course,
    values: Mapping[str, tuple[Value, str | None]],
) -> None:
    seconds, _ = _unit(course.seconds)
    across = [moment / seconds for moment in moments]
    for name, (value, colour) in values.items():
        heights = [course.at(moment, value) for moment in moments]
        label = f"{name}  {heights[-1]:,.0f}"
        axes.plot(across, heights, color=colour, label=label, linewidth=1.6)


def _draw_pace(axes: Axes, course: Course, job: Description) -> None:
    moments = _moments(course, PARTS)
    values: dict[str, tuple[Value, str | None]] = {"requests": (rates.requests, GREY)}
    for stage, colour in _coloured(rates.stages(course.samples[-1].counts)):
        values[job.stage_titles.get(stage, stage)] = (rates.done(stage), colour)
    seconds, _ = _unit(course.seconds)
    edges = [moment / seconds for moment in moments]
    for label, (value, colour) in values.items():
        heights = _paces(course, moments, value)
        axes.stairs(heights, edges, color=colour, label=label, linewidth=1.4, baseline=None)
    axes.set_title(f"Throughput: done in a {'second' if seconds == 1 else 'minute'}", loc="left")


def _paces(course: Course, moments: Sequence[float], value: Value) -> list[float]:
    heights = [course.at(moment, value) for moment in moments]
    span = min(MINUTE, _unit(course.seconds)[0])
    return [
        max(0.0, span * (after - before) / (end - begin))
        for (before, after), (begin, end) in zip(pairwise(heights), pairwise(moments), strict=True)
    ]


def _draw_curve(axes: Axes, course: Course, panel: Panel, job: Description) -> None:
    """Its parts upon each other: together they are the whole."""
    moments = _moments(course, POINTS)
    seconds, _ = _unit(course.seconds)
    coloured = zip(panel.rows, cycle(PARTS_OF_A_WHOLE), strict=False)
    colours = {str(row[0]): colour for row, colour in coloured}
    heights = {
        name: [course.at(moment, _part(job, panel.title, name)) for moment in moments]
        for name in colours
    }
    shown = {name: values for name, values in heights.items() if any(values)}
    if shown:
        across = [moment / seconds for moment in moments]
        labels = [f"{name}  {values[-1]:,.0f}" for name, values in shown.items()]
        filled = [colours[name] for name in shown]
        axes.stackplot(across, *shown.values(), labels=labels, colors=filled, alpha=0.85)
    else:
        axes.text(0.5, 0.5, "none so far", transform=axes.transAxes, ha="center", color=GREY)
    axes.set_title(panel.title, loc="left")


def _mark_restarts(axes: Axes, course: Course, label: str | None) -> None:
    if len(course.restarts) > RESTARTS:
        return
    seconds, _ = _unit(course.seconds)
    for at in course.restarts:
        across = course.worked[at] / seconds
        axes.axvline(across, color="#888888", linestyle=":", linewidth=1, label=label)
        label = None  # once is enough


def _dress(axes: Axes) -> None:
    axes.set_ylim(bottom=0)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _count(name: str) -> Value:
    return lambda sample: sample.counts.get(name, 0)


def _part(job: Description, title: str, name: str) -> Value:
    """One row of a panel of this title, at the moment of a sample."""

    def value(sample: Sample) -> float:
        rows = [
            row
            for panel in job.panels(sample.counts)
            if panel.title == title
            for row in panel.rows
            if row[0] == name
        ]
        return float(rows[0][1]) if rows else 0.0

    return value
