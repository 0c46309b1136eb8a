"""The settings of the log."""

from __future__ import annotations

from dataclasses import dataclass

from .bounds import require_one_of

LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    level: str = "info"
    json: bool = False

    def check(self, where: str) -> None:
        require_one_of(f"{where}level", self.level, LEVELS)
