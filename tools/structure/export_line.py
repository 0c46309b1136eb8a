"""How an export of a document ended, for the log."""

from __future__ import annotations

from typing import NamedTuple


class ExportLine(NamedTuple):
    document: str
    at: float
    status: str
    rows: int = 0
    problems: int = 0
    reason: str | None = None
