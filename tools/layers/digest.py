"""The hash of all that is written of a task: by it another machine says that it has the same one.

Limit: of a class these are its file and the modules beside it that it imports by name, and those
import in turn; what it reads or imports in other ways is not looked at.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

from ..base.toml_file import read_toml


def digest_of(file: Path) -> str:
    """Of the task in this file, which could be loaded."""
    files = _extended(file) if file.suffix == ".toml" else _imported(file)
    hashed = hashlib.sha256()
    for each in sorted(files):
        hashed.update(f"{each.relative_to(file.parent).as_posix()}\0".encode())
        hashed.update(hashlib.sha256(each.read_bytes()).digest())
    return hashed.hexdigest()


def _extended(file: Path) -> set[Path]:
    """It, and those that it extends."""
    found: set[Path] = set()
    while file not in found:
        found.add(file)
        parent = read_toml(file).get("extends")
        if isinstance(parent, str):
            file = file.with_name(f"{parent}.toml")
    return found


def _imported(file: Path) -> set[Path]:
    """It, and what it imports that lies beside it."""
    found, waiting = set[Path](), [file]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            for name in _names(each):
                waiting += _beside(file.parent, name)
    return found


def _beside(folder: Path, name: str) -> list[Path]:
    if (module := folder / f"{name}.py").is_file():
        return [module]
    return sorted((folder / name).rglob("*.py"))


def _names(file: Path) -> Iterator[str]:
    """The first words of all modules that are imported anywhere in it."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
