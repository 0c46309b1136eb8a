"""Sheaf as a user has it who installed it: built, and put into an environment of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution, requires
from pathlib import Path
from zipfile import ZipFile

from tests.support.command import ROOT, clean_environment
from tests.support.needs import missing

BUILD_S = 240
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def built(folder: Path) -> Path:
    """The wheel. It is built from a copy: a build leaves files behind that the next would take."""
    source = folder / "source"
    for path in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "sheaf.py", "main.py"):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, source)
    for path in ("tools", "bench", "scripts"):
        shutil.copytree(ROOT / path, source / path, ignore=shutil.ignore_patterns("__pycache__"))
    command = [*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    command += [str(folder / "wheels"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S)
    if "No matching distribution found for setuptools" in done.stderr:
        missing("pip cannot get setuptools, so no wheel can be built")
    assert done.returncode == 0, done.stderr
    return next((folder / "wheels").glob("sheaf-*.whl"))


def files_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def closure(requirements: list[str]) -> set[str]:
    """The distributions these need, of those that are installed here."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        name, marker = named(waiting.pop())
        if name not in found and "extra" not in marker and is_here(name):
            found.add(name)
            waiting += requires(name) or []
    return found


def named(requirement: str) -> tuple[str, str]:
    text, _, marker = requirement.partition(";")
    match = re.match(r"[A-Za-z0-9._-]+", text)
    assert match is not None, requirement
    return match[0], marker


def is_here(name: str) -> bool:
    """Some are for other systems only."""
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True


class Environment:
    """A virtual environment with this wheel, which sees the given packages and no others. They are
    links to those of the tests, so that nothing has to be fetched."""

    def __init__(self, folder: Path, wheel: Path, requirements: list[str]) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.programs = folder / "bin"
        self.packages = next(folder.glob("lib/python*/site-packages"))
        for name in closure(requirements):
            self._link(name)
        install = [*PIP, "--python", str(self.programs / "python"), "install", "--quiet"]
        subprocess.run([*install, "--no-deps", str(wheel)], check=True, timeout=BUILD_S)

    def _link(self, name: str) -> None:
        known = distribution(name)
        tops = {file.parts[0] for file in known.files or () if file.parts[0] not in ("..", ".")}
        for top in tops - {"__pycache__", "bin"}:
            if not (self.packages / top).exists():
                (self.packages / top).symlink_to(Path(str(known.locate_file(top))).resolve())

    def run(self, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        program, *arguments = map(str, words)
        environment = clean_environment()
        environment.pop("PYTHONPATH", None)
        return subprocess.run(
            [self.programs / program, *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
        )
