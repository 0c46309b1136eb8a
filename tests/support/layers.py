"""A task run in this process, an activity at a time, and what it left behind."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from tools.engine.harvest import Harvest
from tools.jobs.layers import LayersJob, opened
from tools.journal.reader import Look, failed, look
from tools.layers.settings import LayersSettings
from tools.layers.task import Task
from tools.settings import Settings
from tools.tables.target import open_target

FLAGS: dict[str, Any] = {
    **{"once": False, "limit": None, "requests": None, "resume": None, "fresh": False},
    "sample": False,
}


def settings_for(task: Task, state: Path, **layers: Any) -> Settings:
    state.mkdir(exist_ok=True)
    polite = LayersSettings(delay_s=0.0, delay_factor=0.0, per_host=8, timeout_s=5.0)
    chosen = replace(polite, task=task.name, loaded=task, database=task.database, **layers)
    return Settings(state=state, layers=chosen, attempts=task.attempts)


def activity(task: Task, state: Path, stop_after: int | None = None, **flags: Any) -> LayersJob:
    """One, from its beginning to its end; or until so many pages were visited."""
    layers = flags.pop("layers", {})
    settings, stop = settings_for(task, state, **layers), Event()
    job = opened(settings, Namespace(**{**FLAGS, "limit": stop_after, **flags}), stop)
    with closing(job), closing(Harvest(job, settings.pools_file, stop, task.attempts, 5.0)) as run:
        job.open(run)
        run.run()
        job.finish(run)
        job.moment = job.next_round(run)  # type: ignore[attr-defined]
    return job


def seen(state: Path) -> Look:
    return look(state / "pools.db")


def failures(state: Path) -> dict[str, str]:
    return {uri: reason for uri, reason, _ in failed(state / "pools.db")}


def rows(task: Task, state: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """In order."""
    with closing(open_target(task.database, state)) as target:
        named = ", ".join(columns)
        return sorted(tuple(row) for row in target.select(f"SELECT {named} FROM {table}"))
