"""What is known of the job `layers` without opening it. Nothing heavy is imported here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

from ..engine.description import Series
from ..engine.job import Job
from ..engine.panel import Panel
from ..engine.stage import Stage
from .named_description import NamedDescription

if TYPE_CHECKING:
    from ..settings import Settings

ROWS, SKIPPED, DROPPED, STATUS = "rows ", "skipped ", "dropped ", "status "
"""How the names of counts begin."""
WORKERS = 8


class LayersDescription(NamedDescription):
    name = "layers"
    examples = (
        "python main.py layers                  the tasks; on a terminal it asks which",
        "python main.py layers shop             start tasks/shop.toml, or go on with it",
        "python main.py layers shop --try URL   what one page gives; nothing is stored",
        "python main.py layers shop --status    depths, rows and failures",
        "python main.py layers --sample         the built-in shop, offline",
    )
    stage_titles = {"visit": "pages visited"}  # noqa: RUF012
    series = (Series("rows", ROWS),)
    usual_home = "state-layers/NAME"
    fact_types = {  # noqa: RUF012
        "activity": int,
        "activity_ended": int,
        "activity_begun": float,
        "activity_ended_at": float,
    }

    changed_by = {f"layers.{name}": (name,) for name in ("folder", "task", "only")}  # noqa: RUF012
    taken_from = {  # noqa: RUF012
        "state": "layers.state",
        "attempts": "the task",
        **{f"clock.{name}": f"layers.{name}" for name in ("task_timeout_s", "scan_s")},
    }

    def noun(self, facts: Mapping[str, str]) -> str:
        return "requests"

    def panels(self, counts: Mapping[str, int]) -> Sequence[Panel]:
        return (
            Panel("Rows from pages", "table", _of(ROWS, counts)),
            Panel("Skipped", "table", _of(SKIPPED, counts)),
            Panel("Requests of layers left out", "table", _of(DROPPED, counts)),
            Panel("Answers", "table", _of(STATUS, counts)),
        )

    def for_programs(self, counts: Mapping[str, int]) -> dict[str, object]:
        return {
            "rows": dict(_of(ROWS, counts)),
            "skipped": dict(_of(SKIPPED, counts)),
            "dropped": dict(_of(DROPPED, counts)),
            "answers": dict(_of(STATUS, counts)),
        }

    def details(self, settings: Settings) -> Sequence[Panel]:
        from .layers_stored import details_of_task

        return details_of_task(settings)

    def arguments(self, parser: ArgumentParser) -> None:
        from .layers_arguments import add_task_flags

        add_task_flags(parser)

    def prepared(self, settings: Settings, arguments: Namespace) -> Settings:
        """With the task that is meant, in its own state."""
        from .layers_task import with_task

        return with_task(settings, arguments)

    def stages(self, settings: Settings) -> Sequence[Stage]:
        from ..layers.asker import lane_in

        return (Stage("visit", WORKERS, "deepest", lane=lane_in),)

    def set_aside(self, settings: Settings) -> Sequence[str]:
        from .layers_task import tables_set_aside

        return tables_set_aside(settings)

    def plan(self, settings: Settings, arguments: Namespace) -> Iterable[tuple[str, str]]:
        from .layers_task import plan

        return plan(settings)

    def opened(self, settings: Settings, arguments: Namespace, stop: Event) -> Job:
        from .layers import opened

        return opened(settings, arguments, stop)

    def staff(self, name: str, settings: Settings, welcome: Any, post: Any, stop: Event) -> Any:
        from .layers_node import staff_of

        return staff_of(settings, welcome, post, stop)

    def rehearsed(
        self, settings: Settings, scratch: Settings, arguments: Namespace, stop: Event
    ) -> Job:
        """In a file of its own; whether the real place answers is asked too."""
        from .layers import opened
        from .layers_stored import require_answer

        require_answer(settings)
        task = replace(scratch.layers, database="sqlite:rehearsal.db")
        return opened(replace(scratch, layers=task), arguments, stop)


LAYERS = LayersDescription()


def _of(prefix: str, counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Those counts whose names begin so, the most frequent first."""
    rows = [
        (name.removeprefix(prefix), count)
        for name, count in counts.items()
        if name.startswith(prefix) and count
    ]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
