"""The credits of the files that a graph records.

Promise: every recorded file is named once, with all its record says. However large the graph, only
some thousand records are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from .. import uri
from ..add import Entity, Graph
from ..errors import UsageError
from ..graphs.copy import batches
from .credits import Credit

BATCH = 1000  # owners asked for at once


def credits(graph: Graph, concepts: Sequence[str] | None) -> Iterator[Credit]:
    """Of these concepts and of their relations, or of everything in the graph."""
    if concepts is None:
        return _of_owners(graph, _everything(graph))
    require_known(concepts, lambda some: graph.holds(entities=[*map(Entity.of, some)]))
    return _of_owners(graph, dict.fromkeys(_around(graph, concepts)))


def require_known(concepts: Sequence[str], number: Callable[[Sequence[str]], int]) -> None:
    """`number` says how many of some are in the graph."""
    for concept in concepts:
        if not uri.is_concept(concept):
            raise UsageError(f"{concept!r} is not a concept: write it like /c/en/dog")
    for batch in batches(dict.fromkeys(concepts), BATCH):
        if number(batch) < len(batch):
            missing = [each for each in batch if not number([each])]
            raise UsageError(f"{missing[0]} is not in the graph")


def _everything(graph: Graph) -> Iterator[str]:
    yield from (each.uri for each in graph.entities())
    yield from (each.uri for each in graph.relations())


def _around(graph: Graph, concepts: Sequence[str]) -> Iterator[str]:
    for concept in concepts:
        yield concept
        yield from (each.uri for each in graph.neighbours(concept))


def _of_owners(graph: Graph, owners: Iterable[str]) -> Iterator[Credit]:
    for batch in batches(owners, BATCH):
        found = graph.media_of(batch)
        for owner in batch:
            yield from (Credit(owner, media) for media in found.get(owner, ()))
