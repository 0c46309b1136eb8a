"""A task that is a class of the user: its attributes checked as those of a file are."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ..base.mistakes import Mistakes, Section, is_cron, shown
from ..base.text import did_you_mean, one_line, seconds_of
from ..errors import UsageError
from ..tables.declared import tables_of
from .declared_layer import LAYER_NAME, is_layer_name
from .request import Request
from .task import COOKIES, FORMATS, STEPS, LayerOptions, Limits, Refill, Task

KINDS: dict[str, tuple[Any, str]] = {
    "about": (str, "text"),
    "base": (str, "text"),
    "database": (str, "text"),
    "start_from": (str, "text"),
    "at": (str, "text"),
    "layers": (Mapping, "a mapping of layers to depths"),
    "layer_options": (Mapping, "a mapping of layers to LayerOptions"),
    "tables": (Mapping, "a mapping of names to tables"),
    "first": (list | tuple, "a list of Request"),
    "refill": (list | tuple, "a list of Refill"),
    "workers": (int, "a whole number"),
    "attempts": (int, "a whole number"),
    "rounds": (int, "a whole number"),
    "robots": (bool, "True or False"),
    "limits": (Limits, "Limits(...)"),
    "forget": (list | tuple | set | frozenset, "a set of texts"),
    "again": (list | tuple | set | frozenset, "a set of layers"),
    "after_steps": (list | tuple | set | frozenset, "a set of steps"),
}
NAMES = (*KINDS, "every", "cookies", "name")
ALIKE = 0.8  # so much that it must be a slip: what else a class has is its own affair


def checked(kind: type[Task], name: str, file: Path) -> Task:
    """One task of this class; UsageError with all that is wrong with it."""
    mistakes = Mistakes(str(file))
    try:
        task = kind()
    except Exception as error:
        raise UsageError(f"{file}: {kind.__name__}() fails: {one_line(repr(error))}") from error
    if kind.work is Task.work:
        mistakes.add(kind.__name__, "has no method work(self, request, page)")
    _check_kinds(task, kind.__name__, mistakes)
    mistakes.raise_if_any()
    _check_values(task, kind.__name__, mistakes)
    mistakes.raise_if_any()
    task.name, task.file = name, file
    return task


def _check_kinds(task: Task, where: str, mistakes: Mistakes) -> None:
    for name, (kind, meaning) in KINDS.items():
        value = getattr(task, name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            mistakes.add(f"{where}.{name}", f"must be {meaning}, not {shown(value)}")
    every = seconds_of(task.every)
    if every is None:
        mistakes.add(f"{where}.every", f'must be seconds or like "30 min", not {shown(task.every)}')
    else:
        task.every = every
    for name in vars(type(task)):
        near = difflib.get_close_matches(name, NAMES, 1, ALIKE)
        if near and name not in vars(Task) and not callable(getattr(task, name)):
            sentence = f"a task has no such attribute; did you mean {near[0]!r}?"
            mistakes.add(f"{where}.{name}", sentence)


def _check_values(task: Task, where: str, mistakes: Mistakes) -> None:
    if not task.layers:
        mistakes.add(f"{where}.layers", "a task needs at least one: {0: 0}")
    for layer, deep in task.layers.items():
        if type(layer) not in (int, str) or type(deep) is not int or deep < 0:
            mistakes.add(f"{where}.layers", f"{shown(layer)}: {shown(deep)} is no layer and depth")
        elif not is_layer_name(str(layer)):
            mistakes.add(f"{where}.layers", f"{layer!r}: {LAYER_NAME}")
    _check_layers(task, where, mistakes)
    _check_choices(task, where, mistakes)
    try:
        tables_of(task.tables)
    except UsageError as error:
        mistakes.say(f"{where}: {error}")


def _check_layers(task: Task, where: str, mistakes: Mistakes) -> None:
    """Whatever names a layer names one that there is."""
    named: list[tuple[str, Any]] = [("again", each) for each in task.again]
    named += [("layer_options", each) for each in task.layer_options]
    named += [("refill", each.layer) for each in task.refill if isinstance(each, Refill)]
    named += [("first", each.layer) for each in task.first if isinstance(each, Request)]
    for attribute, layer in named:
        if layer not in task.layers:
            near = did_you_mean(str(layer), map(str, task.layers))
            mistakes.add(f"{where}.{attribute}", f"no layer {layer!r}{near}")
    for number, request in enumerate(task.first):
        if not isinstance(request, Request) or request.on(task.base) is None:
            place = f"{where}.first[{number}]"
            mistakes.add(place, f"{shown(request)} is no request with an address of the web")


def _check_choices(task: Task, where: str, mistakes: Mistakes) -> None:
    _check_names(task.after_steps, STEPS, f"{where}.after_steps", mistakes)
    _check_names([task.cookies], COOKIES, f"{where}.cookies", mistakes)
    for layer, options in task.layer_options.items():
        place = f"{where}.layer_options[{layer!r}]"
        if isinstance(options, LayerOptions):
            _check_names([options.format], FORMATS, place, mistakes)
            if not isinstance(options.status, tuple | list) or not options.status:
                mistakes.add(place, f"status must be like (200, 404), not {shown(options.status)}")
        else:
            mistakes.add(place, f"must be LayerOptions(...), not {shown(options)}")
    if task.at and not is_cron(task.at):
        mistakes.add(f"{where}.at", f'{task.at!r} is not five fields of cron, such as "0 6 * * *"')
    if task.at and task.every:
        mistakes.add(f"{where}.at", "every is given too: leave one of them out")
    _check_limits(task.limits, f"{where}.limits", mistakes)
    for name in ("workers", "attempts"):
        if getattr(task, name) < 1:
            mistakes.add(f"{where}.{name}", "must be 1 or more")


def _check_limits(limits: Limits, place: str, mistakes: Mistakes) -> None:
    said = {"delay_s": limits.delay_s, "per_host": limits.per_host, **limits.rates}
    section = Section(
        {key: each for key, each in said.items() if each is not None}, place, mistakes
    )
    section.number("delay_s", None)
    section.whole("per_host", None, 1, 100)
    for host in limits.rates:
        section.texts(host)


def _check_names(
    names: Collection[str], known: Collection[str], place: str, mistakes: Mistakes
) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(str(name), known) or f"; known: {', '.join(known)}"
            mistakes.add(place, f"no {name!r}{hint}")
