"""The settings of a graph in Neo4j; which graph it is stands in its address."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ..base.credentials import one_secret

PASSWORD_VARIABLE = "SHEAF_NEO4J_PASSWORD"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jSettings:
    password_file: Path | None = None
    password: str = field(default="", repr=False)  # not from TOML

    def with_secrets(self) -> Neo4jSettings:
        return replace(self, password=one_secret(PASSWORD_VARIABLE, self.password_file))
