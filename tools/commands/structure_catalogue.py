"""The catalogue: every structure there is, what waits of it, what it has, whether it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..base.text import plain
from ..errors import HarvestError
from ..jobs.structure_declared import limits_of
from ..journal.holder import running
from ..reports.tables import table
from ..settings import Settings
from ..structure.declared import Broken, Structure, load_structures
from ..structure.status import statuses_in

HEAD = ("structure", "about", "sources", "waiting", "failed", "done", "")
ABOUT = 40


def catalogue_lines(settings: Settings, folder: Path | None) -> list[str]:
    where = folder or settings.structure.folder
    found = load_structures(where, limits_of(settings.structure))
    if not found:
        return [f"there are no structures in {where} yet: docs/structure.md shows how to write one"]
    rows = [_row(settings, name, each) for name, each in found.items()]
    return [*table([HEAD, *rows], left=(0, 1, 6)), *_mistakes(found.values())]


def _mistakes(found: Iterable[Structure | Broken]) -> Iterator[str]:
    for each in found:
        if isinstance(each, Broken):
            yield from map(plain, each.reason.splitlines())


def _row(settings: Settings, name: str, each: Structure | Broken) -> tuple[str, ...]:
    if isinstance(each, Broken):
        return (plain(name), "cannot be run: see below", "-", "-", "-", "-", "")
    about, sources = plain(each.about)[:ABOUT], str(len(each.sources))
    here = replace(settings, state=settings.structure.state / name)
    if not here.pools_file.exists():
        return (plain(name), about, sources, "-", "-", "-", "")
    try:
        counts = statuses_in(here.pools_file)
    except HarvestError as error:
        return (plain(name), about, sources, "?", "?", "?", f"damaged: {plain(str(error))}")
    waiting, failed = counts[2] + counts[3], counts[6] + counts[8]
    numbers = (f"{each:,}" for each in (waiting, failed, counts[7] + counts[9]))
    return (plain(name), about, sources, *numbers, "running" if running(here.state) else "")
