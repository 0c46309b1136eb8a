"""What the README shows works, on the sample."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.command import ROOT, clean_environment, run

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


QUERIES = [query for block in blocks("sql") for query in re.split(r";\n", block) if query.strip()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("readme")
    done = run("main.py", "--sample", "-q", "--state", folder / "state")
    assert done.returncode == 0, done.stderr
    yield folder


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.strip().splitlines()[0][3:])
def test_every_query_finds_something(folder: Path, query: str) -> None:
    with closing(sqlite3.connect(folder / "state" / "graph.db")) as db:
        assert db.execute(query).fetchall()


def test_the_python_example_prints_neighbours(folder: Path) -> None:
    (script,) = blocks("python")
    environment = clean_environment(PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder, capture_output=True, text=True, timeout=30, check=True, env=environment,
    )  # fmt: skip
    assert "/c/en/dog IsA /c/en/pet" in done.stdout


def test_every_command_and_flag_in_the_readme_exists() -> None:
    offered = run("main.py", "--help").stdout + run("history.py", "--help").stdout
    for flag in set(re.findall(r"`(--[a-z-]+)", README)):
        assert flag in offered, flag
    for command in set(re.findall(r"python main\.py ([a-z]+)", README)):
        assert command in offered, command


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
