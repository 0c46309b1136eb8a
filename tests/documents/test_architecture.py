"""ARCHITECTURE.md names what is there: every room, in the order that `make check` holds it to."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.support.command import ROOT

TOOLS = ROOT / "tools"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| `([\w/]+?)(/|\.py)` \| (.+) \|$", re.MULTILINE)
ROOMS = {room: (int(number), kind, sentence) for number, room, kind, sentence in ROW.findall(TEXT)}
PACKAGES = {room: sentence for room, (_, kind, sentence) in ROOMS.items() if kind == "/"}
PLUGS = {"Options", "arguments", "run", "write", "prove", "max_bytes", "opened", "plan"}
PLUGS |= {"Table", "Handler", "Watch", "JobCommand", "RawParser", "abroad_of", "staff_of"}
"""What every command, format, kind of media, job, server, parser has: one takes
another's place."""
WALKS = TEXT.partition("## Nine walks")[2].partition("\n## ")[0]


def in_layers() -> list[set[str]]:
    """The rooms as import-linter knows them, the topmost first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first = project["tool"]["importlinter"]["contracts"][0]
    lines = [line.split(" | ") for line in first["layers"] if not line.startswith("(")]
    return [set(line) for line in lines]


def test_every_package_has_its_line_in_the_map_and_every_line_its_room() -> None:
    packages = {path.parent for path in TOOLS.rglob("__init__.py")} - {TOOLS}
    assert {path.relative_to(TOOLS).as_posix() for path in packages} == PACKAGES.keys()
    alone = [f"{room}.py" for room, (_, kind, _) in ROOMS.items() if kind == ".py"]
    assert [name for name in alone if not (TOOLS / name).is_file()] == []


@pytest.mark.parametrize("room", PACKAGES)
def test_a_rooms_sentence_stands_in_the_map_and_in_the_room(room: str) -> None:
    source = (TOOLS / room / "__init__.py").read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source)) == PACKAGES[room]


def test_the_map_has_the_order_that_is_checked() -> None:
    numbered: dict[int, set[str]] = {}
    for room, (number, _, _) in ROOMS.items():
        numbered.setdefault(number, set()).add(room.partition("/")[0])
    assert [numbered[number] for number in sorted(numbered)] == in_layers()


def test_no_public_name_is_given_twice_within_a_room() -> None:
    """Whoever reads one of them would think of the other."""
    given: dict[tuple[Path, str], list[str]] = {}
    for path in TOOLS.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
                given.setdefault((path.parent, node.name), []).append(path.stem)
    twice = {name: paths for (_, name), paths in given.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in PLUGS} == {}


def test_the_walks_go_through_modules_that_exist() -> None:
    named = [name for name in re.findall(r"`([\w/]+)`", WALKS) if name != "history.py"]
    assert len(named) > 30
    assert [name for name in named if not Path(TOOLS / f"{name}.py").is_file()] == []
