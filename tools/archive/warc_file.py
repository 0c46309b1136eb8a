"""A file of the archive, while it grows and when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


@dataclass(slots=True)
class Growing:
    """The file that a domain's records go into."""

    name: str
    path: Path
    fd: int
    size: int


class Closed(NamedTuple):
    """A file that is full and never written again."""

    file: str
    bytes: int
    sha256: str
