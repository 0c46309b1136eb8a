"""The catalogue: every task there is, what is left of it, what it has, whether it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..base.text import ago, amount, plain
from ..errors import HarvestError
from ..jobs.layers_stored import counts_in
from ..journal.holder import running
from ..journal.reader import look
from ..layers.activity import ENDED_AT, NUMBER
from ..layers.catalogue import Loaded, load_tasks
from ..layers.task import Task
from ..reports.tables import table
from ..settings import Settings

HEAD = ("", "task", "about", "layers", "left", "rows", "last activity", "")
ABOUT = 40


class Entry(NamedTuple):
    name: str
    about: str
    layers: str
    left: str = "-"
    rows: str = "-"
    last: str = "-"
    is_running: bool = False
    has_state: bool = False
    mistakes: str = ""  # a line each, if it cannot be run


def entries(settings: Settings, folder: Path | None, now: float | None = None) -> list[Entry]:
    import time

    moment = time.time() if now is None else now
    tasks = load_tasks(folder or settings.layers.folder)
    return [_entry(settings, name, task, moment) for name, task in tasks.items()]


def _entry(settings: Settings, name: str, task: Loaded, now: float) -> Entry:
    if not isinstance(task, Task):
        return Entry(name, "cannot be run: see below", "-", mistakes=task.reason)
    entry = Entry(name, task.about, str(len(task.layers)))
    here = replace(settings, state=settings.layers.state / name)
    if not here.pools_file.exists():
        return entry
    return _with_state(entry, here, now)


def _with_state(entry: Entry, here: Settings, now: float) -> Entry:
    try:
        seen = look(here.pools_file)
    except HarvestError as error:
        return entry._replace(last=f"damaged: {error}", has_state=True)
    left = sum(seen.pools.get(pool, 0) for pool in ("to_visit", "on_visit"))
    number, ended = seen.facts.get(NUMBER, "0"), seen.facts.get(ENDED_AT)
    last = f"{number}, {ago(now - float(ended))}" if ended else f"{number}, not ended"
    is_running = running(here.state) is not None
    return entry._replace(
        left=f"{left:,}", rows=_rows(here), last=last, is_running=is_running, has_state=True
    )


def _rows(here: Settings) -> str:
    try:
        counts = counts_in(here)
    except HarvestError:
        return "?"  # a server that does not answer is no reason to show nothing
    return "-" if counts is None else f"{sum(each.rows for each in counts.values()):,}"


def lines(found: Sequence[Entry], folder: Path) -> list[str]:
    if not found:
        return [f"there are no tasks in {folder} yet: docs/layers.md shows how to write one"]
    rows = [
        (
            str(number),
            plain(each.name),
            plain(each.about)[:ABOUT],
            each.layers,
            each.left,
            each.rows,
            each.last,
            "running" if each.is_running else "",
        )
        for number, each in enumerate(found, 1)
    ]
    mistakes = [line for each in found for line in each.mistakes.splitlines()]
    return [*table([HEAD, *rows], left=(1, 2, 6, 7)), *map(plain, mistakes)]


def choose(found: Sequence[Entry]) -> tuple[str, bool] | None:
    """A task by its number, and whether it begins anew; None if its user has thought better of it.
    What is wrong is asked for again."""
    try:
        entry = found[_number(f"which one (1 to {len(found)}, Enter for none)? ", len(found)) - 1]
        if not entry.has_state:
            return entry.name, False
        while (answer := input("A: begin anew, B: go on? ").strip().upper()) not in ("A", "B"):
            print("A or B, please")
        return entry.name, answer == "A"
    except (EOFError, _Nothing):
        return None


class _Nothing(Exception):
    """Just Enter."""


def _number(question: str, most: int) -> int:
    while True:
        answer = input(question).strip()
        if not answer:
            raise _Nothing
        if answer.isdecimal() and 1 <= int(answer) <= most:
            return int(answer)
        print(f"a number of the list, please: 1 to {most} ({amount(most, 'task')})")
