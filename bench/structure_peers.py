"""The peers of `bench/structure.py`, installed once into a folder of their own, and the servers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from bench.pages_peers import BENCH, HOME
from bench.report import Say

VENV = HOME / "structure-venv"
PACKAGES = ("dlt[sqlalchemy,postgres]==1.31.0", "sqlite-utils==4.2")
DLT, SQLITE_UTILS = "structure_dlt.py", "structure_sqlite_utils.py"
TICKS = os.sysconf("SC_CLK_TCK")


def install(say: Say) -> None:
    if not (VENV / "bin" / "sqlite-utils").exists():
        say(f"structure: installing {', '.join(PACKAGES)} into {VENV}")
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(VENV)],
            [str(VENV / "bin" / "pip"), "install", "--quiet", *PACKAGES],
        ):
            subprocess.run(command, cwd=BENCH, check=True, timeout=900, capture_output=True)


def command(script: str, documents: Path, way: str, where: str) -> Sequence[str]:
    """To be run in an empty folder."""
    return [str(VENV / "bin" / "python"), str(BENCH / script), str(documents), way, where]


def processor_of(server: int) -> float:
    """Seconds that this process, and all it has started, have had until now."""
    children, spent = defaultdict(list), {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        children[int(words[1])].append(int(folder.name))
        spent[int(folder.name)] = sum(map(int, words[11:15])) / TICKS
    family = [server]
    for each in family:
        family += children[each]
    return sum(spent.get(each, 0.0) for each in family)
