"""Where structures and their states are, how many documents are worked on at once, and how much a
parser may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.bounds import DAY_S, bounded
from ..base.processor import cores


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureSettings:
    folder: Path = Path("structures")
    state: Path = Path("state-structure")  # with a folder for each structure
    password_file: Path | None = None
    workers: int = bounded(0, least=0, most=1000)  # 0: as many as there are cores
    most_waiting: int = bounded(10_000, least=1, most=10**7)  # for each priority
    # of a parser, where a structure says nothing
    timeout_s: float = bounded(30.0, above=0, most=DAY_S)
    memory_mb: float = bounded(512.0, least=32, most=1_000_000)
    max_json_mb: float = bounded(64.0, above=0, most=4000)
    max_document_mb: float = bounded(200.0, above=0, most=4000)
    task_timeout_s: float = bounded(3600.0, above=0, most=366 * DAY_S)
    scan_s: float = bounded(300.0, above=0, most=DAY_S)
    name: str = field(default="", repr=False)  # which one is meant: by the command line
    loaded: Any = field(default=None, repr=False, compare=False)
    database: str = field(default="", repr=False)  # instead of the export file's own

    @property
    def cores(self) -> int:
        return self.workers or cores()
