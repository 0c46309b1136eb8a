"""Worker of the fetch stage: one concept -> its relations, and new concepts."""

from __future__ import annotations

from typing import Protocol

from tools.add import Entity, Page, Relation, endpoints
from tools.rules import Filter
from tools.stage import Done, Found, Task


class Source(Protocol):
    """Where concepts come from."""

    def check(self) -> None:
        """Raise Unreachable if it cannot be asked at all."""

    def page(self, concept: str) -> list[Relation]:
        """Every relation of a concept that the filter could keep."""


class Fetcher:
    def __init__(self, source: Source, wanted: Filter, depth: int | None) -> None:
        self._source = source
        self._wanted = wanted
        self._depth = depth

    def __call__(self, task: Task) -> Done:
        kept = [each for each in self._source.page(task.uri) if self._keeps(task.uri, each)]
        concepts = endpoints(kept)
        page = Page([Entity.of(each) for each in concepts], kept)
        if self._depth is not None and task.depth >= self._depth:
            concepts = []
        return Done("finished", [Found(task.stage.name, concepts)], page)

    def _keeps(self, concept: str, each: Relation) -> bool:
        return self._wanted.keeps(
            each.type, each.start, each.end, each.weight
        ) and self._wanted.belongs_to(concept, each.start, each.end)
