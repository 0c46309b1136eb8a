"""`python main.py layers NAME --status`: depths, rows with the share that is filled, failures."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import closing

from ..base.credentials import hidden
from ..base.text import duration, plain
from ..errors import StateDamaged, UsageError
from ..jobs.layers_stored import counts_in
from ..jobs.layers_task import database_in, task_in
from ..journal.facts import next_round
from ..journal.holder import running
from ..journal.reader import facts_in
from ..layers.activity import BEGUN, ENDED, NUMBER
from ..layers.look import Depth, depths_in
from ..layers.suspicions import suspicions
from ..layers.task import Task
from ..reports.tables import table
from ..settings import Settings
from ..tables.declared import tables_of
from ..tables.rows import TableCount
from ..tables.target import visit_target

HEAD = ("deep", "layers", "unvisited", "visiting", "done", "failed", "")


def show_status(settings: Settings, options: Namespace) -> int:
    if not settings.pools_file.exists():
        raise UsageError(
            f"{settings.layers.task} has not been started yet: "
            f"`python main.py layers {settings.layers.task}` does it"
        )
    counts = counts_in(settings)
    print("\n".join(_lines(settings, counts)))
    if not options.check:
        return 0
    wrong = _wrong(settings)
    print("\n".join(wrong) if wrong else "nothing seems to be wrong with its rows")
    return StateDamaged.exit_code if wrong else 0


def _lines(settings: Settings, counts: Mapping[str, TableCount] | None) -> Iterator[str]:
    task, facts = task_in(settings), facts_in(settings.pools_file)
    yield _head(settings, task, facts)
    depths = depths_in(settings.pools_file, task.layers)
    yield from table([HEAD, *(_row(deep, each) for deep, each in depths.items())], left=(1, 6))
    if counts is not None:
        yield "rows  " + "   ".join(_filled(name, each) for name, each in counts.items())
    for sentence in filter(None, facts.get("check", "").split("\n")):
        yield f"check  {plain(sentence)}"


def _head(settings: Settings, task: Task, facts: Mapping[str, str]) -> str:
    number, now, holder = facts.get(NUMBER, "0"), time.time(), running(settings.state)
    begun = float(facts.get(BEGUN, now))
    state = f"activity {number}, {duration(now - begun)}"
    if facts.get(ENDED) == number:
        moment = next_round(facts, holder.pid if holder else None)
        state = f"activity {number} has ended"
        state += f", the next begins in {duration(max(0.0, moment - now))}" if moment else ""
    elif holder is None:
        state += ", not running"
    elif task.every:
        state += f", next in {duration(task.every)} after the end"
    where = hidden(database_in(settings).url)
    return f"{task.name}   {state}        {task.place} -> {where}"


def _row(deep: int, each: Depth) -> tuple[str, ...]:
    numbers = (each.unvisited, each.visiting, each.done, each.failed)
    reasons = ", ".join(f"{number:,} x {plain(reason)}" for reason, number in each.reasons)
    return str(deep), ", ".join(each.layers), *(f"{number:,}" for number in numbers), reasons


def _filled(name: str, count: TableCount) -> str:
    missing = {
        column: number / count.rows
        for column, number in count.filled.items()
        if count.rows and number < count.rows
    }
    said = ", ".join(f"{column} {int(100 * share)} %" for column, share in missing.items())
    return f"{plain(name)} {count.rows:,}" + (f" ({plain(said)})" if said else "")


def _wrong(settings: Settings) -> list[str]:
    """Compared row by row, however many there are."""
    task, database = task_in(settings), database_in(settings)
    target = visit_target(database.url, settings.state, database.password_file)
    if target is None:
        return []
    with closing(target):
        number = int(facts_in(settings.pools_file).get(NUMBER, 0))
        return suspicions(target, tables_of(task.tables), number, None)
