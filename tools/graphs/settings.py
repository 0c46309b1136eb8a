"""The settings of a graph in Neo4j; which graph it is stands in its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jSettings:
    password_file: Path | None = None
    password: str = field(default="", repr=False)  # not from TOML
