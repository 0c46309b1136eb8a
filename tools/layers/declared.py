"""A task of a TOML file: read, checked in all its parts, and compiled.

Promise: all mistakes of the file are told at once, each with its place and the nearest right name;
a task that loads can be run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.mistakes import Mistakes, Section, is_cron, shown
from ..base.text import did_you_mean
from ..base.toml_file import read_toml
from ..errors import UsageError
from ..tables.declared import Table, tables_of
from .declared_layer import LAYER, LAYER_NAME, is_layer_name, options_of, rules_of
from .payload import pairs_of
from .request import METHODS, Layer, Request
from .rules import DeclaredTask
from .task import COOKIES, STEPS, Limits, Refill, Task

TASK = (
    *("about", "base", "database", "robots", "cookies", "forget", "limits", "workers", "attempts"),
    *("rounds", "start", "start_from", "extends", "only", "activity", "refill", "tables", "layers"),
)
ACTIVITY = ("every", "at", "again", "after")
LIMITS = ("delay_s", "per_host")
START = ("layer", "method", "url", "form", "json", "referer")
MERGED = ("tables", "layers", "activity", "limits")
NOT_INHERITED = ("extends", "only")


def declared_task(name: str, files: Mapping[str, Path]) -> DeclaredTask:
    """UsageError with all mistakes; `files` are those of all declared tasks, by name."""
    file = files[name]
    mistakes = Mistakes(str(file))
    said = _extended(name, read_toml(file), files, mistakes)
    task = _compiled(name, Section(said, "", mistakes, TASK))
    mistakes.raise_if_any()
    task.file = file
    return task


def _extended(
    name: str, said: dict[str, Any], files: Mapping[str, Path], mistakes: Mistakes
) -> dict[str, Any]:
    """With what it has from the task that it extends, and that one from another."""
    chain, parent = [name], said.get("extends")
    while isinstance(parent, str):
        chain.append(parent)
        if parent in chain[:-1]:
            mistakes.add("extends", f"{' extends '.join(map(repr, chain))}: it never ends")
            break
        if parent not in files:
            others = [each for each in files if each not in chain]
            mistakes.add("extends", f"no declared task {parent!r}{did_you_mean(parent, others)}")
            break
        below = read_toml(files[parent])
        said, parent = _merged(below, said), below.get("extends")
    return said


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` on top: of layers and tables each as a whole."""
    merged = {key: value for key, value in below.items() if key not in NOT_INHERITED} | dict(above)
    if {"start", "start_from"} & above.keys():  # one beginning replaces the other
        for key in {"start", "start_from"} - above.keys():
            merged.pop(key, None)
    for key in MERGED:
        if isinstance(below.get(key), dict) and isinstance(above.get(key), dict):
            merged[key] = below[key] | above[key]
    return merged


def _compiled(name: str, section: Section) -> DeclaredTask:
    task = DeclaredTask()
    task.name = name
    task.tables = section.said.get("tables", {})
    _read_plain(task, section)
    _read_layers(task, section)
    if not task.layers:
        return task
    _read_activity(task, section)
    section.text("extends")
    only = section.among("only", map(str, task.layers), "layer")
    part = task.only(only) if only else task
    _read_start(part, section, task.layers)
    return part


def _read_plain(task: Task, section: Section) -> None:
    task.about = section.text("about")
    task.base = section.text("base")
    if task.base and Request("", url=task.base).on("") is None:
        section.wrong("base", f"{task.base!r} is not an address such as https://host/")
    task.database = section.text("database", Task.database)
    task.robots = section.flag("robots", Task.robots)
    task.cookies = section.choice("cookies", COOKIES, Task.cookies)
    task.forget = frozenset(section.texts("forget"))
    task.workers = section.whole("workers", Task.workers, 1, 1000)
    task.attempts = section.whole("attempts", Task.attempts, 1, 1000)
    task.rounds = section.whole("rounds", Task.rounds, 0, 1000)
    task.limits = _limits(section.section("limits"))


def _limits(section: Section) -> Limits:
    """A delay, how many at once, and the rates of hosts by their names."""
    hosts = [key for key in section.said if key not in LIMITS]
    for key in hosts:
        if not {".", ":"} & set(key):
            section.wrong(key, f"no such key; known: {', '.join(LIMITS)}, and names of hosts")
    rates = {host: section.texts(host) for host in hosts if {".", ":"} & set(host)}
    return Limits(section.number("delay_s", None), section.whole("per_host", None, 1, 100), rates)


def _read_layers(task: DeclaredTask, section: Section) -> None:
    tables = _tables(task.tables, section.mistakes)
    layers = section.section("layers")
    if not layers.said:
        section.wrong("layers", "a task needs at least one: [layers.NAME]")
    sections = {name: layers.section(name, LAYER) for name in layers.said}
    for name in sections:
        if not is_layer_name(name):
            layers.wrong(name, LAYER_NAME)
    task.layers = {
        name: each.whole("deep", position) for position, (name, each) in enumerate(sections.items())
    }
    task.layer_options = {name: options_of(each) for name, each in sections.items()}
    task.rules = {
        name: rules_of(each, task.options(name).format, task.layers, tables)
        for name, each in sections.items()
    }
    _check_shares(task, tables, section.mistakes)


def _tables(said: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Table] | None:
    """None if they are wrong: then nothing can be said about the columns of rows."""
    try:
        return tables_of(said)
    except UsageError as error:
        mistakes.say(str(error))
        return None


def _check_shares(
    task: DeclaredTask, tables: Mapping[str, Table] | None, mistakes: Mistakes
) -> None:
    """A share of filled rows needs a row that fills it."""
    filled = {
        (rows.table, column)
        for rules in task.rules.values()
        for rows in rules.rows
        for column in (*rows.fields, *rows.texts)
    }
    for table in (tables or {}).values():
        for column in table.at_least:
            if (table.name, column) not in filled:
                mistakes.add(f"tables.{table.name}.at_least.{column}", "no row has such a field")


def _read_activity(task: Task, section: Section) -> None:
    activity = section.section("activity", ACTIVITY)
    task.every = activity.seconds("every", 0.0)
    task.at = activity.text("at")
    if task.at and not is_cron(task.at):
        activity.wrong("at", f'{task.at!r} is not five fields of cron, such as "0 6 * * *"')
    if task.at and task.every:
        activity.wrong("at", "every is given too: leave one of them out")
    task.again = activity.among("again", map(str, task.layers), "layer")
    if "after" in activity:
        task.after_steps = activity.among("after", STEPS, "step")
    task.refill = [
        Refill(each.text("query"), _layer(each, task.layers) or task.first_layer)
        for each in section.sections("refill", ("query", "layer"))
        if _has(each, "query")
    ]


def _read_start(task: Task, section: Section, whole: Mapping[Layer, int]) -> None:
    task.start_from = section.text("start_from")
    start = section.said.get("start", [])
    if isinstance(start, str):
        start = [start]
    if not isinstance(start, list):
        section.wrong("start", f"must be a list of addresses, not {shown(start)}")
        return
    made = [_first(each, section, number, task, whole) for number, each in enumerate(start)]
    task.first = [each for each in made if each is not None]
    is_left = [each for each in task.first if each.layer not in task.left_out]
    if not is_left and not task.start_from and len(section.mistakes) == 0:
        section.wrong("start", "nothing is asked first: give start or start_from")


def _first(
    said: Any, section: Section, number: int, task: Task, whole: Mapping[Layer, int]
) -> Request | None:
    place = f"start[{number}]"
    table = Section(
        {"url": said} if isinstance(said, str) else said, place, section.mistakes, START
    )
    layer = _layer(table, whole) or task.first_layer
    if not _has(table, "url"):
        return None
    method = table.choice("method", METHODS, _method(table))
    payload = _json(table) if method == "JSON" else pairs_of(table.section("form").said)
    request = Request(layer, method, table.text("url"), table.text("referer") or None, payload)
    if request.on(task.base) is None:
        base = "" if task.base else " (the task has no base)"
        table.wrong("url", f"{request.url!r} is not an address of the web{base}")
        return None
    return request


def _json(table: Section) -> Any:
    """TOML has moments and numbers that JSON has not."""
    said = table.said.get("json")
    try:
        json.dumps(said, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        table.wrong("json", f"{error}: write it as a text")
        return None
    return said


def _method(table: Section) -> str:
    return "JSON" if "json" in table else "POST" if "form" in table else "GET"


def _layer(section: Section, layers: Mapping[Layer, int]) -> Layer | None:
    if "layer" not in section:
        return None
    name = section.text("layer")
    if name not in layers:
        section.wrong("layer", f"no layer {name!r}{did_you_mean(name, map(str, layers))}")
        return None
    return name


def _has(section: Section, key: str) -> bool:
    if key not in section:
        section.mistakes.add(section.place, f"has no {key}")
    return key in section
