"""What a measurement gives, and how it is shown: a table, and the sections of RESULTS.md."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Literal

RUNS = 3
RESULTS = Path(__file__).with_name("RESULTS.md")
HEAD = """# Results

Written by `python -m bench --write`; README.md says what each row means. Every figure is the median
of its runs, with the lowest and the highest in brackets.
"""
PACKAGES = ("requests", "urllib3", "orjson", "neo4j")
COLUMNS = ("measurement", "ours", "peer", "figure", "bar", "met")


@dataclass(frozen=True, slots=True)
class Bar:
    kind: Literal[">=", "<"]
    value: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.value:,g}{self.unit}"

    def is_met(self, figure: float) -> bool:
        return figure >= self.value if self.kind == ">=" else figure < self.value


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the figures that count are `figures`, one for each run."""

    what: str
    figures: Sequence[float]
    unit: str = ""
    digits: int = 2
    bar: Bar | None = None
    ours: str = ""
    peer: str = ""

    def cells(self) -> tuple[str, ...]:
        met = "" if self.bar is None else "yes" if self.is_met() else "NO"
        figure = shown(self.figures, self.digits, self.unit)
        bar = "" if self.bar is None else str(self.bar)
        return (self.what, self.ours, self.peer, figure, bar, met)

    def is_met(self) -> bool:
        return self.bar is None or self.bar.is_met(median(self.figures))


def shown(figures: Sequence[float], digits: int = 0, unit: str = "") -> str:
    text = f"{median(figures):,.{digits}f}"
    if len(figures) > 1:
        text += f" [{min(figures):,.{digits}f} to {max(figures):,.{digits}f}]"
    return f"{text}{unit}"


Say = Callable[[str], None]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def table(rows: Iterable[Row]) -> str:
    """Markdown that also reads well on a terminal."""
    cells = [COLUMNS, *(row.cells() for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(COLUMNS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def surroundings(quick: bool) -> str:
    """When and on what it was measured; nothing that tells one machine from another."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{time.strftime('%Y-%m-%d')}{', QUICK: a tenth of the sizes' if quick else ''}. "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {packages}. "
        f"{_cpu()}, {os.cpu_count()} cores, {platform.system()}; "
        f"load of the last quarter of an hour {os.getloadavg()[2]:.1f}."
    )


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def write_results(tables: dict[str, str], quick: bool, path: Path = RESULTS) -> None:
    """Replace the sections that were measured and keep the others."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    parts = re.split(r"^## ([\w-]+)\n", old, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    about = surroundings(quick)
    sections |= {name: f"\n{about}\n\n{text}\n\n" for name, text in tables.items()}
    body = "".join(f"## {name}\n{sections[name].rstrip()}\n\n" for name in sorted(sections))
    path.write_text(f"{HEAD}\n{body.rstrip()}\n", encoding="utf-8")
