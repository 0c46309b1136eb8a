"""Where what visits bring goes: first raw answers that are kept, then the rows.

Promise: the rows of several pages are stored together, all or none. Limit: one writer, the
committer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..tables.target import Target
from .kept import Kept
from .visit import Visited


class Store:
    """`rows` were stored in this run, by table; `misfits` were not, by reason."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.kept: Kept | None = None  # if any layer keeps its answers
        self.rows: Counter[str] = Counter()
        self.misfits: Counter[str] = Counter()

    def __call__(self, visited: Sequence[Visited]) -> None:
        if self.kept is not None:
            self.kept.add([each.answer for each in visited if each.answer is not None])
        written = self._target.write([each.brought for each in visited])
        self.rows.update(written.rows)
        self.misfits.update(written.misfits)
