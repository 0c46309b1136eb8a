"""The numbers of the nine statuses: those of documents here, and of what is still to be had from a
crawl that they come from."""

from __future__ import annotations

from ..base.text import amount
from ..errors import HarvestError, NothingHarvested
from ..journal.reader import look
from ..settings import Settings
from ..structure.status import statuses_in
from .structure_declared import structure_in

PAGES = "pages:"


def statuses_of(settings: Settings) -> dict[int, int]:
    """In their order."""
    counts = statuses_in(settings.pools_file)
    for said in structure_in(settings).sources:
        if said.startswith(PAGES):
            for status, number in _of_crawl(settings, said.removeprefix(PAGES), counts).items():
                counts[status] = counts.get(status, 0) + number
    return dict(sorted(counts.items()))


def _of_crawl(settings: Settings, state: str, known: dict[int, int]) -> dict[int, int]:
    """New, failed, and downloaded but not dispatched; none if it cannot be read now."""
    file = structure_in(settings).folder / state / settings.pools_file.name
    try:
        pools = look(file).pools
    except HarvestError:
        return {}
    new = sum(n for name, n in pools.items() if name.startswith(("to_", "on_")))
    downloaded = max(0, pools.get("finished", 0) - sum(known.values()))
    return {1: new, 4: pools.get("failed", 0), 5: downloaded}


def nothing_done(settings: Settings) -> NothingHarvested | None:
    """A run that did nothing, and has nothing from before, is no success."""
    counts, structure = statuses_in(settings.pools_file), structure_in(settings)
    if counts[7] + counts[9]:
        return None
    if failed := counts[6] + counts[8]:
        why = f"`python main.py structure status {structure.name}` says why"
        return NothingHarvested(
            f"{amount(failed, 'document')} failed, and no other is there: {why}"
        )
    return NothingHarvested(
        f"no document was found in {', '.join(structure.sources)}: look at `source` and at the "
        f"patterns of `parsers` in {structure.file}"
    )
