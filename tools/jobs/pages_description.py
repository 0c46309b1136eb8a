"""What is known of the job `pages` without opening it. Nothing heavy is imported here."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ..engine.description import Description, Metric, Series
from ..engine.job import Job
from ..engine.panel import Panel
from ..engine.stage import Stage
from .pages_arguments import CHANGED_BY, add_crawl_flags, with_flags

if TYPE_CHECKING:
    from ..settings import Settings
    from .shipping import ArchiveShipping

NAME = "pages"
LINKS, STATUS, REVISITS, REQUISITES = "links ", "status ", "revisits ", "requisites "
"""How the names of counts begin."""


class PagesDescription(Description):
    name = NAME
    examples = (
        "python main.py pages --sample                      the built-in site",
        "python main.py pages --seeds seeds.txt --depth 3   the addresses in a file",
        "python main.py pages --seed https://example.org --scope domain --archive web",
        "python main.py pages --depth 4                     a level deeper",
        "python main.py pages --refetch-after 24h           what has changed?",
    )
    stage_titles = {  # noqa: RUF012
        "download": "pages downloaded",
        "analyse": "pages analysed",
        "control": "pages controlled",
    }
    series = (Series("links followed", "links followed"), Series("words", "words"))
    store_title = "page table"
    usual_home = "state-pages"
    fact_types = {  # noqa: RUF012
        "depth": int,
        "seeds": json.loads,
        "scope_rules": json.loads,
    }
    changed_by = CHANGED_BY
    taken_from = {  # noqa: RUF012
        **{name: f"pages.{name}" for name in ("state", "limit", "attempts")},
        **{f"clock.{name}": f"pages.{name}" for name in ("task_timeout_s", "scan_s")},
    }

    def noun(self, facts: Mapping[str, str]) -> str:
        return "pages"

    def home(self, settings: Settings) -> Path:
        return settings.pages.state

    def products(self, settings: Settings) -> Mapping[str, Path]:
        from ..archive.store import MARK

        archive = settings.pages.archive
        return {"archive": archive} if (archive / MARK).exists() else {}

    def panels(self, counts: Mapping[str, int]) -> Sequence[Panel]:
        return (
            Panel("Links", "table", _of(LINKS, counts)),
            Panel("Answers", "table", _of(STATUS, counts)),
            Panel("Belonging to pages", "table", _of(REQUISITES, counts)),
            Panel("Same content as before", "table", _of(REVISITS, counts)),
            Panel("Words counted", "curve", [("words", counts.get("words", 0))]),
        )

    def metrics(self, counts: Mapping[str, int]) -> Mapping[str, Metric]:
        links = {verdict: float(number) for verdict, number in _of(LINKS, counts)}
        return {"links_total": Metric("Links by what became of them", links, "verdict")}

    def for_programs(self, counts: Mapping[str, int]) -> dict[str, object]:
        return {
            "links": dict(_of(LINKS, counts)),
            "answers": dict(_of(STATUS, counts)),
            "revisits": dict(_of(REVISITS, counts)),
            "requisites": dict(_of(REQUISITES, counts)),
        }

    def details(self, settings: Settings) -> Sequence[Panel]:
        from .pages_stored import details_of_crawl

        return details_of_crawl(settings)

    def stored(self, settings: Settings) -> Mapping[str, int] | None:
        from .pages_stored import stored

        return stored(settings)

    def arguments(self, parser: ArgumentParser) -> None:
        add_crawl_flags(parser)

    def prepared(self, settings: Settings, arguments: Namespace) -> Settings:
        """Everything the job reads is in `pages`; what the engine reads of every job follows it."""
        from ..pages.seeds import seeds_of

        pages = with_flags(settings.pages, arguments)
        file = arguments.seeds or pages.seed_file
        given = pages.seeds if arguments.seed is None and arguments.seeds is None else ()
        if not (is_going_on(settings) and not (arguments.seed or file or given)):
            pages = replace(pages, seeds=seeds_of([*given, *(arguments.seed or ())], file))
        late, scan = pages.task_timeout_s, pages.scan_s
        clock = replace(settings.clock, task_timeout_s=late, scan_s=scan)
        return replace(
            settings, pages=pages, clock=clock, limit=pages.limit, attempts=pages.attempts
        )

    def stages(self, settings: Settings) -> Sequence[Stage]:
        from ..documents.address import lane_of

        pages = settings.pages
        return (
            Stage(
                "download",
                pages.download_workers,
                "fair",
                pages.limit,
                folder=pages.archive,
                queue=pages.page_queue,
                lane=lane_of,
            ),
            Stage("analyse", pages.analyse_workers, queue=pages.parsed_queue, kind="computes"),
            Stage("control", pages.control_workers, kind="computes"),
        )

    def plan(self, settings: Settings, arguments: Namespace) -> Iterable[tuple[str, str]]:
        from .pages_plan import plan

        return plan(settings)

    def opened(self, settings: Settings, arguments: Namespace, stop: Event) -> Job:
        from .pages import opened

        return opened(settings, arguments, stop)

    def shipping(self, settings: Settings) -> ArchiveShipping:
        from .shipping import ArchiveShipping  # it takes paramiko with it

        return ArchiveShipping(settings)

    def staff(self, name: str, settings: Settings, welcome: Any, post: Any, stop: Event) -> Any:
        from .pages_node import staff_of

        return staff_of(settings, welcome, post, stop)

    def rehearsed(
        self, settings: Settings, scratch: Settings, arguments: Namespace, stop: Event
    ) -> Job:
        from .pages import opened

        folder = scratch.state
        pages = replace(scratch.pages, archive=folder / "archive", database="sqlite:pages.db")
        return opened(replace(scratch, pages=pages), arguments, stop)


PAGES = PagesDescription()


def is_going_on(settings: Settings) -> bool:
    """A crawl that has begun knows its seeds."""
    return settings.pools_file.exists()


def _of(prefix: str, counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Those counts whose names begin so, the most frequent first."""
    named = {name: count for name, count in counts.items() if name.startswith(prefix)}
    rows = [(name.removeprefix(prefix), count) for name, count in named.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
