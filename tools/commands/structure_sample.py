"""`python main.py structure --sample`: both structures of the built-in seed bank, and whether their
tables are those it knows of itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..base.say import say
from ..errors import Fatal, NothingHarvested
from ..sample.seed_bank import TRUTH
from ..structure.status import failures_in
from .harvest import load_settings

MORE = "`python main.py structure status seeds --sample` shows more; docs/structure.md goes on"
SCANS = "tesseract"
QUESTIONS = {"_problems": 'SELECT "table", "column", value FROM _problems'}


def run_seed_bank(run: Callable[[Any], int], options: Any) -> int:
    """One after the other. The scan needs tesseract: without it, all but that is there."""
    typed, said = options.typed, []
    for name in TRUTH:
        options.name, options.typed = name, [*typed, name]
        with suppress(NothingHarvested):  # what failed is told with its reason
            run(options)
        said += [_verdict(name, load_settings(options))] if not options.dry_run else []
    options.name = next(iter(TRUTH))  # the one to look at afterwards
    if said and not options.quiet:
        say("\n".join([*said, MORE]))
    return 0


def _verdict(name: str, settings: Any) -> str:
    for failure in failures_in(settings.pools_file):
        if SCANS not in failure.reason:
            raise Fatal(f"{name}: {failure.source} failed: {failure.reason}")
        return f"{name}: {failure.source} is left out: {failure.reason}"
    found = {table: [*_rows(settings.state / f"{name}.db", table)] for table in TRUTH[name]}
    for table, rows in found.items():
        expected = sorted(map(_plain, TRUTH[name][table]), key=repr)
        if sorted(map(_plain, rows), key=repr) != expected:
            raise Fatal(f"{name}: the table {table} has {rows}, but should have {expected}")
    counts = ", ".join(f"{table} {len(rows)}" for table, rows in found.items())
    return f"{name}: as the seed bank knows of itself: {counts}"


def _rows(file: Path, table: str) -> Iterator[tuple[Any, ...]]:
    """Without the columns that every table has."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
        columns = [name for _, name, *_ in db.execute(f'PRAGMA table_info("{table}")')]
        listed = ", ".join(f'"{name}"' for name in columns if not name.startswith("_"))
        yield from db.execute(QUESTIONS.get(table, f'SELECT {listed} FROM "{table}"'))


def _plain(row: tuple[Any, ...]) -> list[Any]:
    """Where a scan has its blank lines nobody promises; 90 and 90.0 are one number."""
    return [
        " ".join(each.split()) if isinstance(each, str) else each and float(each) for each in row
    ]
