"""The three scripts, run as a user runs them: in a folder that holds nothing yet, whatever lies in
the checkout."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tools import uri
from tools.conceptnet.rules import RELATIONS, Filter

ROOT = Path(__file__).parents[2]
DEFAULT_FILTER = Filter.of(["en"], 1.0, RELATIONS, True)

FOLDERS = tempfile.TemporaryDirectory(prefix="sheaf-tests-", ignore_cleanup_errors=True)

Here = Callable[..., str]
"""What the fixture `here` is: arguments of main.py in, its exit code and its sentence out."""


def clean_environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SHEAF_")}
    return kept | {"PYTHONWARNINGS": "error"} | more


def empty_folder() -> str:
    """Gone with the process of the tests."""
    return tempfile.mkdtemp(dir=FOLDERS.name)


def run(
    script: str,
    *arguments: object,
    cwd: Path | None = None,
    answers: str = "",
    seconds: float = 120,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / script), *map(str, arguments)],
        cwd=cwd or empty_folder(),
        input=answers,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=clean_environment(**environment),
    )


def start(script: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    return start_in(empty_folder(), script, *arguments, **environment)


def start_in(
    folder: str | Path, script: str, *arguments: object, **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / script), *map(str, arguments)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(**environment),
    )


def read_until(text: str, process: subprocess.Popen[str]) -> None:
    """Read its log lines up to one that holds this text."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"it ended without saying {text!r}")


def says(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    """The one sentence on stderr; there must be exactly one line and no traceback."""
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def harvest_flags(folder: Path, source: str, seed: str, *more: object) -> list[object]:
    state, graph = folder / "state", f"sqlite:{folder / 'graph.db'}"
    return [
        "--source",
        source,
        "--seed",
        seed,
        "--no-media",
        "--state",
        state,
        "--graph",
        graph,
        *more,
    ]


def history(folder: Path) -> dict[str, Any]:
    flags = ("--json", "--state", folder / "state", "--graph", f"sqlite:{folder / 'graph.db'}")
    done = run("history.py", *flags)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def pools_of(state: Path) -> dict[str, int]:
    done = run("history.py", "--json", "--state", state)
    pools: dict[str, int] = json.loads(done.stdout)["pools"]
    return pools


def records(graph: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in an embedded graph, in a fixed order."""
    with closing(sqlite3.connect(f"file:{graph}?mode=ro", uri=True)) as db:
        return {
            table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("entity", "relation", "media")
        }


def relations_of(folder: Path) -> set[str]:
    return {row[0] for row in records(folder / "graph.db")["relation"]}


def finished(state: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{state / 'pools.db'}?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute("SELECT uri FROM uri WHERE pool = 0 ORDER BY uri")]


class BruteForce:
    """What a harvest must end with, by looking at every line of the file."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.pages = defaultdict(list)
        for line in lines:
            name, rel, start, end, info = line.rstrip("\n").split("\t", 4)
            if DEFAULT_FILTER.keeps(rel[3:], start, end, json.loads(info)["weight"]):
                for page in {*uri.prefixes(start), *uri.prefixes(end)}:
                    self.pages[page].append((name, start, end))

    def neighbours(self, page: str) -> set[str]:
        return {end for _, *ends in self.pages[page] for end in ends}

    def walk(self, *seeds: str) -> tuple[set[str], set[str]]:
        """The concepts and the relations that are reached from the seeds."""
        concepts, relations, waiting = set(seeds), set(), list(seeds)
        while waiting:
            for name, *ends in self.pages.get(waiting.pop(), ()):
                relations.add(name)
                waiting += [end for end in ends if end not in concepts]
                concepts.update(ends)
        return concepts, relations


def walk(lines: Iterable[str], *seeds: str) -> tuple[set[str], set[str]]:
    return BruteForce(lines).walk(*seeds)
