"""How far the harvest is: bars on a terminal, lines elsewhere, one an hour in the log, and a table
at the end."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..base.log import file_only
from ..base.text import plain, size
from ..engine.executor import place_of
from ..engine.job import Counted, Reading
from ..engine.panel import Panel
from ..engine.pools import Pools
from ..engine.stage import Stage
from ..journal.nodes import Node
from ..journal.pauses import Paused
from ..journal.processes import Process
from . import nodes as of_nodes
from .bars import Bar
from .panels import lines_of
from .processes import lines

if TYPE_CHECKING:  # history.py needs a table, no network and no bars
    from tqdm import tqdm

    from ..network.client import Client

logger = logging.getLogger(__name__)

LINE_EVERY_S, HOUR_S = 10.0, 3600.0
WAITS, WAITS_EVERY_S = "waits", 1.0


class Progress:
    """Call it now and then from one thread."""

    def __init__(
        self,
        pools: Pools,
        stages: Sequence[Stage],
        counted: Callable[[], Sequence[Counted]],
        client: Client | None,
        quiet: bool,
        file: Reading | None = None,
        is_paused: Callable[[], bool] = lambda: False,
        waits: Callable[[], str] = str,
        paused_slots: Callable[[], Paused] = dict,
        processes: Callable[[], Sequence[Process]] = list,
        nodes: Callable[[], Sequence[Node]] = list,
    ) -> None:
        self._pools, self._stages, self._counted, self._client = pools, stages, counted, client
        self._begun = time.monotonic()
        self._line_due = self._begun + LINE_EVERY_S
        self._hour_due = self._begun + HOUR_S
        self._file = file  # read by the first stage, if it reads one
        self._is_paused = is_paused
        self._waits, self._waits_due = waits, self._begun
        self._paused_slots = paused_slots
        self._processes, self._nodes = processes, nodes
        self._bars: dict[str, Bar] = {}
        if sys.stderr.isatty() and not quiet:
            self._open_bars()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    @property
    def asks(self) -> bool:
        """Whether the job asks anybody."""
        return self._client is not None

    @property
    def requests(self) -> int:
        return 0 if self._client is None else self._client.traffic.requests

    @property
    def bytes(self) -> int:
        return 0 if self._client is None else self._client.traffic.bytes

    def __call__(self) -> None:
        if self._bars:
            self._draw()
        elif time.monotonic() >= self._line_due:
            self._line_due = time.monotonic() + LINE_EVERY_S
            logger.info("progress %s", self._line())
        if time.monotonic() >= self._hour_due:
            self._hour_due += HOUR_S
            file_only.info("progress %s", self._line())

    def _others(self) -> list[str]:
        """Who works for it beside this process."""
        return [*lines(self._processes()), *of_nodes.node_lines(self._nodes())]

    def close(self) -> None:
        self()
        for bar in self._bars.values():
            bar.close()

    def _open_bars(self) -> None:
        if self._file is not None:
            self._bars["read"] = Bar("read", self._file.packed, size)
        for stage in self._shown:
            self._bars[stage.name] = Bar(stage.name, self._pools.done(stage))
        for each in self._counted():
            if each.has_bar:
                self._bars[each.title] = Bar(each.title)

    @property
    def _shown(self) -> Sequence[Stage]:
        """Of a stage that reads a file, that is shown instead."""
        return self._stages if self._file is None else self._stages[1:]

    def _draw(self) -> None:
        pause = "paused" if self._is_paused() else ""
        if self._file is not None:
            self._bars["read"].show(self._file.packed, self._file.size, pause)
        for stage in self._shown:
            done, active = self._pools.done(stage), self._pools.count(stage.active)
            total = done + active + self._pools.count(stage.waiting)
            told, more = self._at_work(stage, active)
            self._bars[stage.name].show(done, total, pause or told, more)
        for each in self._counted():
            if each.has_bar:
                self._bars[each.title].show(each.number, None, pause, verb=each.verb)
        if time.monotonic() >= self._waits_due:
            self._waits_due = time.monotonic() + WAITS_EVERY_S
            for number, line in enumerate(self._others()):
                self._say(f"process {number}", line)
            self._say(WAITS, self._waits())

    def _say(self, name: str, text: str) -> None:
        """A line of its own, from the first time on that there is something to say."""
        if text and name not in self._bars:
            self._bars[name] = Bar("")
        if name in self._bars:
            self._bars[name].say(text)

    def _at_work(self, stage: Stage, active: int) -> tuple[str, str]:
        """If all of a stage make a pause, and what else is to be told of its workers."""
        paused = len(self._paused_slots().get(stage.name, ()))
        at_work = f"{min(active, stage.workers)} at work"  # the next ones may lie ready
        if paused == stage.workers:
            return "paused", at_work if active else ""
        return "", f"{at_work}, {paused} paused" if paused else at_work if active else ""

    def _line(self) -> str:
        pools = " ".join(f"{name}={count}" for name, count in self._pools.counts().items())
        if self._is_paused():
            pools = f"paused {pools}"
        elif paused := self._paused_slots():
            names = ",".join(place_of(stage, n) for stage, slots in paused.items() for n in slots)
            pools = f"paused={names} {pools}"
        counted = "".join(f" {each.title}={each.number}" for each in self._counted())
        line = f"{pools}{counted}"
        if self.asks:
            line += f" requests={self.requests}"
        if self._file:
            line += f" read={self._file.packed / self._file.size:.0%}"
        more = [*self._others(), plain(self._waits())]
        return "; ".join([line, *filter(None, more)])


@contextmanager
def bar(title: str, total: int, quiet: bool = False) -> Iterator[Callable[[int], object]]:
    """For work whose size is about known; call what it gives with how much more is done."""
    text = f"{title:9} {{l_bar}}{{bar}}| {{n:,}} of {{total:,}}, {{rate_fmt}}, {{remaining}} left"
    hidden = quiet or not sys.stderr.isatty()
    from tqdm import tqdm  # not before there is a bar

    with tqdm(total=total, unit="", bar_format=text, disable=hidden, dynamic_ncols=True) as shown:

        def show(number: int) -> None:
            # What grows meanwhile may be more; tqdm forgets a total that is passed.
            shown.total = max(shown.total or 0, shown.n + number)
            shown.update(number)

        yield show


@contextmanager
def byte_bar(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """For bytes of which some may be there already; call it with how many are, and of how many."""
    hidden = quiet or not sys.stderr.isatty()
    shown: tqdm[Any] | None = None

    def show(done: int, total: int) -> None:
        nonlocal shown
        shown = shown or _bytes(title, done, total, hidden)
        if done < shown.n:
            shown.initial = 0  # begun anew: what was there before is not there now
            shown.reset()
        shown.total = total
        shown.update(done - shown.n)

    try:
        yield show
    finally:
        if shown is not None:
            shown.close()


def _bytes(title: str, done: int, total: int, hidden: bool = False) -> tqdm[Any]:
    text = f"{title:9} {{l_bar}}{{bar}}| {{n_fmt}} of {{total_fmt}}, {{rate_fmt}}, "
    text += "{remaining} left"
    from tqdm import tqdm  # not before there is a bar

    return tqdm(
        initial=done,
        total=total,
        unit="B",
        unit_scale=True,
        bar_format=text,
        disable=hidden,
        dynamic_ncols=True,
    )


def two_columns(rows: Iterable[tuple[str, object]], indent: int = 2) -> str:
    """Two columns, numbers to the right."""
    cells = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in rows]
    left = max((len(name) for name, _ in cells), default=0)
    right = max((len(v) for _, v in cells if v.replace(",", "").isdigit()), default=0)
    return "\n".join(f"{' ' * indent}{name:<{left}}  {value:>{right}}" for name, value in cells)


def side_by_side(rows: Iterable[tuple[str, object]], count: int = 3) -> str:
    """Many short rows beside each other, read downwards."""
    lines = two_columns(rows).splitlines()
    height = max(1, -(-len(lines) // count))
    parts = [lines[at : at + height] for at in range(0, len(lines), height)]
    beside = zip_longest(*parts, fillvalue="")
    return "\n".join("    ".join(row).rstrip() for row in beside)


def summary(
    pools: Mapping[str, int],
    kept: Sequence[Panel],
    failures: Mapping[str, int],
    progress: Progress,
    places: Mapping[str, object],
    read: Mapping[str, int],
) -> str:
    """What a person wants to know when the harvest ends."""
    parts = [
        _titled("Pools", side_by_side(pools.items())),
        *map(_shown, kept),
        _titled("Failures by reason", two_columns(failures.items())),
        _titled("Read so far", two_columns(read.items())),
        _titled("This run", two_columns(_run_rows(progress))),
        _titled("Where things are", two_columns(places.items())),
    ]
    return "\n".join(filter(None, parts))


def _titled(title: str, text: str) -> str:
    """Nothing needs no title."""
    return f"{title}\n{text}" if text else ""


def _shown(panel: Panel) -> str:
    """Bars are many and short: beside each other; a curve is for pictures."""
    if panel.head or panel.kind == "curve":
        return "\n".join(lines_of(panel))
    rows = [(plain(str(name)), value) for name, value, *_ in panel.rows]
    return _titled(panel.title, side_by_side(rows) if panel.kind == "bars" else two_columns(rows))


def _run_rows(progress: Progress) -> list[tuple[str, object]]:
    requests, seconds = progress.requests, progress.seconds
    if not progress.asks:
        return [("seconds", round(seconds))]
    rows: list[tuple[str, object]] = [
        ("requests", requests),
        ("megabytes", round(progress.bytes / 1e6)),
        ("seconds", round(seconds)),
    ]
    return rows if seconds < 1 else [*rows, ("requests per second", round(requests / seconds))]
