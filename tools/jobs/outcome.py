"""Has the harvest harvested anything? If not, why, as far as that is known.

All runs of a state count together, and only what this harvest kept itself: its graph may hold what
others brought.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..add import Counts
from ..conceptnet.rules import KEPT, TOO_LIGHT
from ..engine.harvest import Harvest
from ..engine.pools import Pools
from ..errors import HarvestError, LeftOut, NothingHarvested, UnknownConcept
from ..fetch import Source
from ..journal.reader import failed
from ..settings import Settings

if TYPE_CHECKING:
    from .conceptnet import ConceptnetJob

MOST_NAMED = 3
WIDEN = "widen it with --relations, --with, --language or --min-weight"
_COUNTED = {"kept": "counted"}


@runtime_checkable
class Suggests(Protocol):
    """A source that knows what somebody may have meant."""

    def near(self, concept: str) -> list[str]:
        """Concepts it knows whose names are like this one, the likeliest first."""


def begin_to_count(pools: Pools) -> None:
    """States made before this was counted are judged by what is in their graph."""
    if "job" not in pools.remembered():
        pools.remember(_COUNTED)


def nothing_kept(
    harvest: Harvest, job: ConceptnetJob, settings: Settings, graph: Counts | None
) -> NothingHarvested | None:
    """What to say if it came to its end and kept no relation."""
    if harvest.was_stopped or harvest.pools.tallied(KEPT):
        return None
    is_counted = _COUNTED.items() <= harvest.pools.remembered().items()
    if not is_counted and (graph is None or graph.relations):
        return None
    return NothingHarvested(f"nothing was harvested: {_reason(harvest.pools, job, settings)}")


def _reason(pools: Pools, job: ConceptnetJob, settings: Settings) -> str:
    if job.streamer is not None:
        lines, name = job.streamer.counts()["lines"], job.streamer.lines.path.name
        return f"none of the {lines:,} lines of {name} passes the filter; {WIDEN}"
    seeds = list(job.seeds[0].uris)
    wanted = set(seeds)
    reasons = {uri: reason for uri, reason, _ in failed(settings.pools_file) if uri in wanted}
    if reasons:
        return _why_failed(reasons, job)
    if pools.tallied(TOO_LIGHT):
        least = f"{settings.filter.min_weight:.15g}"
        return (
            f"every relation of {_named(seeds)} that the filter could keep weighs less than "
            f"{least}; lower --min-weight"
        )
    return f"the filter rejects every relation of {_named(seeds)}; {WIDEN}"


def _why_failed(reasons: Mapping[str, str], job: ConceptnetJob) -> str:
    for error in (UnknownConcept(), LeftOut()):
        if seeds := [seed for seed, reason in reasons.items() if reason == str(error)]:
            what = str(error).replace("this concept", _named(seeds))
            otherwise = f", or {WIDEN}" if isinstance(error, LeftOut) else ""
            return f"{what}; {_hint(job.source, seeds[0])} --seed{otherwise}"
    seed, reason = next(iter(reasons.items()))
    return f"{seed} failed ({reason}); `python main.py retry`, then start again"


def _hint(source: Source, concept: str) -> str:
    near: list[str] = []
    if isinstance(source, Suggests):
        with suppress(HarvestError):  # it is only a hint
            near = source.near(concept)
    return f"did you mean {near[0]}? Give another" if near else "give another"


def _named(concepts: list[str]) -> str:
    more = len(concepts) - MOST_NAMED
    return ", ".join(concepts[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
