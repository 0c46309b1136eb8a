"""What the scripts say where they cannot run at all."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tools.base import start
from tools.base.extras import EXTRAS

SCRIPTS = ("main.py", "history.py", "clear.py")
BASE = ("__init__", "version", "start", "extras", "program")
BEGINNING = [
    f"tools/{name}.py" for name in ("__init__", "errors", *(f"base/{name}" for name in BASE))
]
"""What is read before it is known whether this Python can read the rest."""


def said_by(script: str, *before: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [*before, ROOT / script, "--help"], capture_output=True, text=True, timeout=60, cwd="/"
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_its_packages_it_says_how_to_get_them(script: str) -> None:
    code, out, said = said_by(script, sys.executable, "-S")
    assert (code, out) == (2, "")
    assert said.startswith("sheaf: this Python lacks requests, urllib3, socks and ")
    assert said.endswith("run `make run` once, then `. .venv/bin/activate`\n")
    assert len(said.splitlines()) == 1


def test_an_older_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    assert start.trouble() == "Sheaf needs Python 3.11 or newer, and this is Python 3.10"


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_older_python_can_read_the_beginning(script: str) -> None:
    """What it cannot compile it could not say a sentence about either."""
    for part in (script, *BEGINNING):
        ast.parse((ROOT / part).read_text("utf-8"), feature_version=(3, 8))
    for version in ("3.8", "3.9", "3.10"):
        for python in (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"):
            code, _, said = said_by(script, str(python))
            assert (code, said) == (2, f"sheaf: {start.TOO_OLD} {version}\n")


def test_another_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "find_spec", lambda name: None if name == "fcntl" else name)
    assert start.trouble() == "Sheaf runs on Linux and macOS only; on Windows, run it in WSL"


def test_where_nothing_is_missing_nothing_is_said() -> None:
    assert start.trouble() is None


def test_the_packages_are_those_of_the_requirements() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    found = (re.match(r"[A-Za-z][\w.-]*", line) for line in lines)
    wanted = [match[0].lower().replace("-", "_") for match in found if match]
    modules = packages_distributions()
    named = [modules[name][0].lower().replace("-", "_") for name in start.PACKAGES]
    assert named == wanted


def test_an_installed_one_does_without_the_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    has = {"fcntl", *start.PACKAGES} - {*EXTRAS}
    monkeypatch.setattr(start, "find_spec", lambda name: name if name in has else None)
    assert start.trouble(is_installed=True) is None
    has -= {"orjson", "tqdm"}
    sentence = "this Python lacks tqdm, orjson: run `pip install sheaf`"
    assert start.trouble(is_installed=True) == sentence
    assert start.trouble() is not None
