"""Work on several machines: where the keys are, and how far the others are trusted with tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..base.bounds import bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    folder: Path = Path("cluster")
    port: int = bounded(4222, least=1, most=65_535)
    patience_h: float = bounded(24.0, above=0, most=10_000)
    tasks: int = bounded(512, least=1, most=100_000)  # handed out at once, over all nodes
    threads: int = bounded(0, least=0, most=1000)  # of a node, for each stage; 0: as a stage has
    per_node: tuple[str, ...] = ()  # hosts whose limits count for each node alone
