"""What is known of the job `conceptnet` without opening it. Nothing heavy is imported here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ..add import KINDS
from ..base.say import say
from ..conceptnet.graph import graph_counts
from ..engine.description import Description, Series
from ..engine.job import Job
from ..engine.panel import Cell, Panel
from ..engine.stage import Kind, Order, Stage
from ..errors import UsageError
from ..journal.reader import WholeFile
from . import conceptnet_arguments, conceptnet_facts

if TYPE_CHECKING:
    from ..settings import Settings
    from .shipping import MediaShipping

NAME = "conceptnet"
SAMPLE, REAL = "the built-in sample", "ConceptNet"
"""What is harvested, as a state remembers it."""
WHOLE = "--all reads the whole file: it takes no seed, limit, depth or --sample"
TITLES = {kind: f"{word}s" for kind, word in KINDS.items()}
MEDIA = "media "  # before kind and provider, in the name of a count


class ConceptnetDescription(Description):
    name = NAME
    examples = (
        "python main.py --sample                          the built-in sample, offline",
        "python main.py --seed dog,cat --limit 1000       from two concepts",
        "python main.py --source FILE.csv.gz --all --no-media",
        "python main.py --seed dog --dry-run              what would that do?",
    )
    stage_titles = {"fetch": "concepts fetched", "extend": "tasks extended"}  # noqa: RUF012
    series = (Series("media files", MEDIA),)
    store_title = "graph"
    whole_file = WholeFile("file:", "fetch", "dump_lines")
    fact_types = conceptnet_facts.TYPES
    place_flags = ("config", "state", "graph", "media")
    changed_by = {"seeds": ("seed",)}  # noqa: RUF012

    def noun(self, facts: Mapping[str, str]) -> str:
        return conceptnet_facts.noun(facts)

    def choice_for_people(self, key: str, value: str) -> str:
        return conceptnet_facts.media_for_people(value) if key == "media" else value

    def panels(self, counts: Mapping[str, int]) -> Sequence[Panel]:
        media = media_in(counts)
        totals = dict.fromkeys(TITLES, 0)
        for (kind, _), number in media.items():
            totals[kind] = totals.get(kind, 0) + number
        rows = [(title, totals[kind]) for kind, title in TITLES.items()]
        course = Panel("Media files kept, by kind", "curve", rows)
        return (_by_provider(media), course) if media else (course,)

    def for_programs(self, counts: Mapping[str, int]) -> dict[str, object]:
        return {
            "media": [
                {"kind": kind, "provider": provider, "files": number}
                for (kind, provider), number in media_in(counts).items()
            ]
        }

    def stored(self, settings: Settings) -> Mapping[str, int] | None:
        counts = graph_counts(settings.graph_url, settings.neo4j.password, soon=True)
        return counts._asdict() if counts else None

    def command_before(self, facts: Mapping[str, str]) -> str:
        world = facts.get("world", REAL)
        if world == SAMPLE:
            return "--sample"
        return "--source FILE --all" if world.startswith("all of ") else ""

    def arguments(self, parser: ArgumentParser) -> None:
        conceptnet_arguments.add_all(parser)

    def products(self, settings: Settings) -> Mapping[str, Path]:
        from ..media.ledger import Ledger

        return {"media": settings.media} if Ledger(settings.media) else {}

    def prepared(self, settings: Settings, arguments: Namespace) -> Settings:
        """Seeds as concepts, explained where typed otherwise; a whole file needs none."""
        given = arguments.seed
        if arguments.all:
            is_walk = given or settings.limit is not None or settings.depth is not None
            if is_walk or vars(arguments).get("sample"):
                raise UsageError(WHOLE)
            return settings
        from ..conceptnet.seeds import explained, seeds_of

        seeds = seeds_of(settings.seeds if given is None else given, settings.filter.languages)
        for sentence in () if arguments.quiet else explained(seeds):
            say(sentence)
        return replace(settings, seeds=tuple(seed.concept for seed in seeds))

    def stages(self, settings: Settings) -> Sequence[Stage]:
        """A walk of limited depth needs true distances, so it goes level by level. The next task
        lies ready for each worker: the disk takes a tenth of the time that a page does."""
        order: Order = "fifo" if settings.depth is None else "levels"
        kind: Kind = "computes" if settings.worker_processes else "waits"
        return (
            Stage(
                "fetch",
                settings.fetch_workers,
                order,
                settings.limit,
                kind="computes",
                portion=2,
            ),
            Stage("extend", settings.extend_workers, folder=settings.media, kind=kind, portion=2),
        )

    def plan(self, settings: Settings, arguments: Namespace) -> Iterable[tuple[str, str]]:
        from .conceptnet_plan import plan

        return plan(settings, arguments)

    def opened(self, settings: Settings, arguments: Namespace, stop: Event) -> Job:
        from .conceptnet import opened  # it takes the network with it

        return opened(settings, arguments, stop)

    def staff(self, name: str, settings: Settings, welcome: Any, post: Any, stop: Event) -> Any:
        from .conceptnet_node import staff_of

        return staff_of(name, settings, welcome, post, stop)

    def shipping(self, settings: Settings) -> MediaShipping:
        from .shipping import MediaShipping  # it takes paramiko with it

        return MediaShipping(settings)

    def rehearsed(
        self, settings: Settings, scratch: Settings, arguments: Namespace, stop: Event
    ) -> Job:
        from .conceptnet import rehearsed

        return rehearsed(settings, scratch, arguments, stop)


CONCEPTNET = ConceptnetDescription()


def media_in(counts: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """By kind and provider."""
    found = {}
    for key, count in counts.items():
        if key.startswith(MEDIA):
            kind, _, provider = key.removeprefix(MEDIA).partition(" ")
            found[kind, provider] = count
    return found


def _by_provider(media: Mapping[tuple[str, str], int]) -> Panel:
    kinds = sorted({kind for kind, _ in media}, key=lambda kind: [*TITLES, kind].index(kind))
    by_provider = {
        provider: [media.get((kind, provider), 0) for kind in kinds]
        for provider in dict.fromkeys(provider for _, provider in media)
    }
    rows = sorted(by_provider.items(), key=lambda row: (-sum(row[1]), row[0]))
    totals = [sum(column) for column in zip(*by_provider.values(), strict=True)]
    cells: list[tuple[Cell, ...]] = [
        (name, *row, sum(row)) for name, row in [*rows, ("all", totals)]
    ]
    return Panel("Media", "table", cells, [*(TITLES.get(kind, kind) for kind in kinds), "all"])
