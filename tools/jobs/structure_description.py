"""What is known of the job `structure` without opening it. Nothing heavy is imported here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ..engine.description import Pace, Series
from ..engine.job import Job
from ..engine.panel import Panel
from ..engine.stage import Stage
from .named_description import NamedDescription

if TYPE_CHECKING:
    from ..settings import Settings

TOGETHER = 1000  # documents that are exported in one go
SEEN = ("found", "copies", "empty", "superseded", "without parser", "unreadable")
"""What is counted of documents on their way."""


class StructureDescription(NamedDescription):
    name = "structure"
    examples = (
        "python main.py structure                    the structures there are",
        "python main.py structure register           do what its file says",
        "python main.py structure register --watch   stay, and do it again and again",
        "python main.py structure status register    how far it is, and what failed",
    )
    stage_titles = {  # noqa: RUF012
        "dispatch": "stretches read",
        "parse": "parsed",
        "export": "exported",
    }
    series = (Series("documents", "found"),)
    usual_home = "state-structure/NAME"

    changed_by = {f"structure.{name}": (name,) for name in ("folder", "name")}  # noqa: RUF012
    taken_from = {  # noqa: RUF012
        "state": "structure.state",
        "clock.task_timeout_s": "structure.task_timeout_s, or its parsers",
        "clock.scan_s": "structure.scan_s",
    }

    def noun(self, facts: Mapping[str, str]) -> str:
        return "documents"

    def panels(self, counts: Mapping[str, int]) -> Sequence[Panel]:
        rows = [(name, counts[name]) for name in SEEN if counts.get(name)]
        return (Panel("Documents", "table", rows),)

    def views(self, file: Path, pace: Pace) -> Sequence[Panel]:
        from .structure_views import views_of

        return views_of(file, pace)

    def details(self, settings: Settings) -> Sequence[Panel]:
        from .structure_views import details_of

        return details_of(settings)

    def known_as(self, file: Path, uris: Sequence[str]) -> Mapping[str, str]:
        from ..structure.status import sources_in

        return sources_in(file, uris)

    def arguments(self, parser: ArgumentParser) -> None:
        from .structure_arguments import add_structure_flags, add_watch

        add_structure_flags(parser)
        add_watch(parser)

    def prepared(self, settings: Settings, arguments: Namespace) -> Settings:
        """With the structure that is meant, in its own state."""
        from .structure_declared import with_structure

        return with_structure(settings, arguments)

    def stages(self, settings: Settings) -> Sequence[Stage]:
        cores = settings.structure.cores
        return (
            Stage("dispatch", 1),
            Stage("parse", cores, "priority", kind="computes"),
            Stage("export", 1, "priority", kind="computes", portion=TOGETHER),
        )

    def set_aside(self, settings: Settings) -> Sequence[str]:
        from .structure_declared import tables_archived

        return tables_archived(settings)

    def plan(self, settings: Settings, arguments: Namespace) -> Iterable[tuple[str, str]]:
        from .structure_declared import plan

        return plan(settings)

    def opened(self, settings: Settings, arguments: Namespace, stop: Event) -> Job:
        from .structure import opened

        return opened(settings, arguments, stop)

    def staff(self, name: str, settings: Settings, welcome: Any, post: Any, stop: Event) -> Any:
        from .structure_node import staff_of

        return staff_of(settings, welcome)

    def rehearsed(
        self, settings: Settings, scratch: Settings, arguments: Namespace, stop: Event
    ) -> Job:
        """In a file of its own; whether the real place answers is asked too."""
        from .structure import opened
        from .structure_declared import require_database

        require_database(settings)
        elsewhere = replace(scratch.structure, database="sqlite:rehearsal.db")
        return opened(replace(scratch, structure=elsewhere), arguments, stop)


STRUCTURE = StructureDescription()
