"""Which task is meant, where its state and its rows are, and what it would do."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ..base.credentials import hidden
from ..base.text import amount, did_you_mean, duration
from ..errors import UsageError
from ..layers.settings import Database, LayersSettings, database_of
from ..layers.task import Task
from ..settings import Settings
from ..tables.address import is_mysql, is_postgres, sqlite_path
from ..tables.declared import tables_of

OWN_FILES = ("pools.db", "kept.db", "requests.json", "LOCK", "log")
STAMP = "%Y%m%d_%H%M"


def with_task(settings: Settings, arguments: Namespace) -> Settings:
    """The settings for the task that the command line names."""
    layers, given = settings.layers, vars(arguments)
    if given.get("folder") is not None:
        layers = replace(layers, folder=given["folder"])
    name = given.get("task")
    if not name:
        raise UsageError("which task? `python main.py layers` lists them")
    from ..layers.catalogue import load_task  # it takes selectors and JMESPath with it

    task = load_task(layers.folder, name)
    only = tuple(given.get("only") or ())
    task = part_of(task, only)
    if given.get("delay_s") is not None:
        layers = replace(layers, delay_s=given["delay_s"])
    database = layers.database or task.database
    layers = replace(layers, task=task.name, only=only, loaded=task, database=database)
    home = f"{task.name}.{'.'.join(only)}" if only else task.name
    state = settings.state if given.get("state") is not None else layers.state / home
    if only and not given.get("requests") and not (state / settings.pools_file.name).exists():
        _check_beginning(task, only)
    _check_place(database_of(settings.databases, database, None).url, state, task)
    clock = replace(settings.clock, task_timeout_s=layers.task_timeout_s, scan_s=layers.scan_s)
    return replace(settings, layers=layers, state=state, clock=clock, attempts=task.attempts)


def part_of(task: Task, only: Sequence[str]) -> Task:
    """The task, or only these layers of it, as somebody types them."""
    return task.only([_layer(task, each) for each in only]) if only else task


def _check_beginning(task: Task, only: Sequence[str]) -> None:
    if not task.start_from and not [*task.starts()]:
        raise UsageError(
            f"{task.place}: nothing is asked first of {', '.join(only)}: all of `start` is of "
            "other layers; give start_from, or --resume FILE with a requests.json"
        )


def _check_place(url: str, state: Path, task: Task) -> None:
    """Rows and the record of what was asked are never one file."""
    if not is_server(url) and url.startswith("sqlite:"):
        path = sqlite_path(url, state).absolute()
        if path.parent.resolve() == state.absolute().resolve() and path.name in OWN_FILES:
            raise UsageError(
                f"{task.place}: {url} is a file of the state itself: take another name"
            )


def _layer(task: Task, name: str) -> str | int:
    layer = task.layer_named(name)
    if layer is None:
        near = did_you_mean(name, [str(each) for each in task.layers])
        raise UsageError(f"{task.place} has no layer {name!r}{near}")
    return layer


def task_in(settings: Settings) -> Task:
    task: Task = settings.layers.loaded
    return task


def database_in(settings: Settings) -> Database:
    layers: LayersSettings = settings.layers
    return database_of(settings.databases, layers.database, layers.password_file)


def is_server(url: str) -> bool:
    return is_postgres(url) or is_mysql(url)


def is_there(database: Database, settings: Settings) -> bool:
    """A file is, or a server may have it."""
    return is_server(database.url) or sqlite_path(database.url, settings.state).exists()


def plan(settings: Settings) -> Iterator[tuple[str, str]]:
    task, database = task_in(settings), database_in(settings)
    yield "task", f"{task.name} ({task.place}): {task.about}"
    depths = sorted(set(task.layers.values()))
    layers = (", ".join(str(la) for la, d in task.layers.items() if d == deep) for deep in depths)
    yield (
        "layers",
        "; ".join(f"{deep}: {names}" for deep, names in zip(depths, layers, strict=True)),
    )
    yield "first", amount(len([*task.starts()]), "request")
    yield "again", f"after {duration(task.every)}" if task.every else task.at or "no"
    yield "robots.txt", "is obeyed" if task.robots else "is ignored"
    yield "tables", f"{', '.join(task.tables)} in {hidden(database.url)}"


def tables_set_aside(settings: Settings) -> Sequence[str]:
    """A file in the state folder has gone with that; tables elsewhere get other names."""
    from ..tables.target import open_target

    database, task = database_in(settings), task_in(settings)
    if not is_there(database, settings):
        return ()
    place = database.url, settings.state, database.password_file
    with closing(open_target(*place)) as target:
        moved = target.set_aside(time.strftime(STAMP), [*tables_of(task.tables)])
    return [f"the old table {old} is called {new} now" for old, new in moved.items()]
