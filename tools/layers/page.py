"""An answer as the work on it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Page:
    """A page, with its text decoded."""

    url: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    format: str = "html"
    charset: str = "utf-8"
