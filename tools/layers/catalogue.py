"""The tasks of a folder: `NAME.toml`, and classes in `*.py`.

Promise: a task that cannot be loaded stands in the catalogue with the reason, and spoils no other.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..base.text import did_you_mean, one_line
from ..errors import UsageError
from .class_task import checked
from .declared import declared_task
from .digest import digest_of
from .task import Task
from .told import is_same, said_by

NAME = re.compile(r"[\w][\w.-]{0,99}")
MODULES = "_tasks_of_"


@dataclass(frozen=True, slots=True)
class Broken:
    """A task that cannot be run; the reason has a line for each mistake."""

    name: str
    file: Path
    reason: str


Loaded = Task | Broken


def load_task(folder: Path, name: str) -> Task:
    """UsageError if there is none of this name, or if it is broken."""
    tasks = load_tasks(folder)
    task = tasks.get(name)
    if task is None:
        hint = did_you_mean(name, tasks) or _known(tasks)
        raise UsageError(f"no task {name!r} in {folder}{hint}")
    if isinstance(task, Broken):
        raise UsageError(task.reason)
    if task.file is not None:
        task.digest = digest_of(task.file)
    return task


def _known(tasks: dict[str, Loaded]) -> str:
    return f"; there are: {', '.join(tasks)}" if tasks else ": put NAME.toml or a class there"


def load_tasks(folder: Path) -> dict[str, Loaded]:
    """All, by their names."""
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder} for tasks: make it and write one (docs/layers.md shows "
            "how), or set layers.folder"
        )
    tasks: dict[str, Loaded] = {}
    for name, task in sorted([*_declared(folder), *_classes(folder)], key=lambda pair: pair[0]):
        if other := tasks.get(name):
            files = " and ".join(sorted({str(other.file), str(task.file)}))
            reason = f"two tasks are called {name!r}: {files}; give one of them another name"
            tasks[name] = Broken(name, task.file or folder, reason)
        else:
            tasks[name] = task
    return tasks


def _declared(folder: Path) -> Iterator[tuple[str, Loaded]]:
    files = {file.stem: file for file in sorted(folder.glob("*.toml"))}
    for name, file in files.items():
        try:
            _require_name(name, file)
            yield name, declared_task(name, files)
        except UsageError as error:
            yield name, Broken(name, file, str(error))


def _require_name(name: object, file: Path) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(f"{file}: {name!r} must be letters, digits, _ . - to be a task's name")


def _classes(folder: Path) -> Iterator[tuple[str, Loaded]]:
    for file in sorted(folder.glob("*.py")):
        if file.name.startswith("_"):
            continue
        try:
            classes = _classes_in(_imported(file))
        except UsageError as error:
            yield file.stem, Broken(file.stem, file, str(error))
            continue
        for kind in classes:
            said = kind.name or kind.__name__.lower()
            name = said if isinstance(said, str) else kind.__name__.lower()
            try:
                _require_name(said, file)
                yield name, checked(kind, name, file)
            except UsageError as error:
                yield name, Broken(name, file, str(error))
            except (Exception, SystemExit) as error:  # of its own code, while it is looked at
                yield name, Broken(name, file, _told(file, error))


def _classes_in(module: ModuleType) -> Sequence[type[Task]]:
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Task)
        and kind.__module__ == module.__name__
        and not kind.__name__.startswith("_")
    ]


def _imported(file: Path) -> ModuleType:
    """UsageError with the line that fails."""
    name = f"{MODULES}{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is no module of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that what it defines can be found by its name
    try:
        with _on_path(file.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise UsageError(_told(file, error)) from error
    return module


@contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    """What tasks share may stand in a file beside them."""
    sys.path.insert(0, str(folder.absolute()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.absolute()))


def _told(file: Path, error: BaseException) -> str:
    line: int | None = None
    if isinstance(error, SyntaxError) and is_same(error.filename, file):
        line = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        line = next(
            (each.lineno for each in reversed(frames) if is_same(each.filename, file)), None
        )
    said = error.msg if isinstance(error, SyntaxError) else said_by(error)
    place = f"{file}:{line}" if line else str(file)
    return f"{place}: {type(error).__name__}: {one_line(said)}"
