"""Where tasks and their states are, and how politely their sites are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.bounds import DAY_S, bounded, require, require_known

OF_DATABASES = ("url", "password_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersSettings:
    folder: Path = Path("tasks")
    state: Path = Path("state-layers")  # with a folder for each task
    password_file: Path | None = None
    # patience
    connect_timeout_s: float = bounded(5.0, above=0, most=DAY_S)
    timeout_s: float = bounded(30.0, above=0, most=DAY_S)
    task_timeout_s: float = bounded(300.0, above=0, most=366 * DAY_S)
    scan_s: float = bounded(300.0, above=0, most=DAY_S)
    host_patience_h: float = bounded(6.0, least=0, most=24 * 366)
    start_patience_s: float = bounded(300.0, least=0, most=366 * DAY_S)
    # politeness, where a task says nothing
    delay_s: float = bounded(1.0, least=0, most=DAY_S)
    delay_factor: float = bounded(1.0, least=0, most=1000)
    per_host: int = bounded(1, least=1, most=100)
    crawl_delay_cap_s: float = bounded(60.0, least=0, most=DAY_S)
    # what is kept
    max_bytes: int = bounded(50_000_000, least=1, most=10**10)
    archive_file_mb: float = bounded(1000.0, above=0, most=100_000)
    database: str = field(default="", repr=False)  # instead of the task's own
    task: str = field(default="", repr=False)  # which one is meant: by the command line
    loaded: Any = field(default=None, repr=False, compare=False)
    only: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Database:
    """Where a task's rows go."""

    url: str
    password_file: Path | None = None


def check_databases(named: Mapping[str, Mapping[str, str]], where: str) -> None:
    for name, of in named.items():
        require_known("setting", of, OF_DATABASES, f"{where}.{name}")
        require("url" in of, f"{where}.{name} needs a url, such as postgresql://user@host/database")


def database_of(
    named: Mapping[str, Mapping[str, str]], said: str, password_file: Path | None
) -> Database:
    """By the name that a task gives it, or as it is."""
    if said not in named:
        return Database(said, password_file)
    of = named[said]
    own = of.get("password_file")
    return Database(of["url"], Path(own).expanduser() if own else password_file)
