"""Worker of the fetch stage: one concept -> its relations, and new concepts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from .add import Entity, Page, Relation, endpoints
from .conceptnet.rules import KEPT, TOO_LIGHT, Filter, is_groundable
from .engine.stage import Done, Found, Task


class Source(Protocol):
    """Where concepts come from."""

    def check(self) -> None:
        """Raise Unreachable if it cannot be asked at all."""

    def page(self, concept: str) -> list[Relation]:
        """Every relation of a concept that the filter could keep."""


class Fetcher:
    """`ground` says what gets media: concepts, relations, both or nothing."""

    def __init__(
        self, source: Source, wanted: Filter, depth: int | None, ground: str = "nothing"
    ) -> None:
        self._source = source
        self._wanted = wanted
        self._depth = depth
        self._next = "to_extend" if ground in ("concepts", "both") else "finished"
        self._shows_relations = ground in ("relations", "both")

    def __call__(self, task: Task) -> Done:
        listed = self._source.page(task.uri)
        kept = [each for each in listed if self._keeps(task.uri, each)]
        return self.done(task, kept, {} if kept else self._too_light(task.uri, listed))

    def done(self, task: Task, kept: Sequence[Relation], tally: Mapping[str, int]) -> Done:
        """What follows from the relations of a page, whoever has fetched it."""
        concepts = endpoints(kept)
        # The source knows it: it is in the graph even if nothing else of its page is.
        page = Page([Entity.of(each) for each in dict.fromkeys([task.uri, *concepts])], kept)
        tally = {KEPT: len(kept)} if kept else tally
        if self._depth is not None and task.depth >= self._depth:
            concepts = []
        found = [Found(task.stage.name, concepts)]
        if self._shows_relations:
            found.append(Found("extend", [each.uri for each in kept if is_groundable(each)]))
        return Done(self._next, found, page, tally)

    def _too_light(self, concept: str, listed: Sequence[Relation]) -> dict[str, int]:
        heavier = (each._replace(weight=math.inf) for each in listed)
        number = sum(self._keeps(concept, each) for each in heavier)
        return {TOO_LIGHT: number} if number else {}

    def _keeps(self, concept: str, each: Relation) -> bool:
        return self._wanted.keeps(
            each.type, each.start, each.end, each.weight
        ) and self._wanted.belongs_to(concept, each.start, each.end)
