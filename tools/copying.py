"""Copies one graph into another, and looks whether everything arrived.

Promise: stopped anywhere, the same copy can be begun again: what has arrived is written once more
and stays as it is. Nothing in the target is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from tools.add import Counts, Entity, Graph, Media, Relation

BATCH = 5000  # records in a transaction: see bench/RESULTS.md

T = TypeVar("T")
Show = Callable[[int], object]
"""Told how many more records are done."""


class Part(NamedTuple):
    """Some records of a graph, and the media of each that has any."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]
    media: dict[str, list[Media]]

    @property
    def files(self) -> list[Media]:
        return list(chain.from_iterable(self.media.values()))

    @property
    def size(self) -> int:
        return len(self.entities) + len(self.relations) + len(self.files)


def parts(graph: Graph) -> Iterator[Part]:
    """All of a graph. Entities come first, so that their relations find them."""
    for entities in batches(graph.entities()):
        yield Part(entities, (), graph.media_of([each.uri for each in entities]))
    for relations in batches(graph.relations()):
        yield Part((), relations, graph.media_of([each.uri for each in relations]))


def copy(source: Graph, target: Graph, show: Show) -> None:
    for part in parts(source):
        target.write(part.entities, part.relations)
        if part.media:
            target.attach(part.media)
        show(part.size)


def arrived(source: Graph, target: Graph, show: Show) -> Counts:
    """How many records of the source the target holds."""
    entities = relations = media = 0
    for part in parts(source):
        entities += target.holds(entities=part.entities)
        relations += target.holds(relations=part.relations)
        media += target.holds(media=part.files)
        show(part.size)
    return Counts(entities, relations, media)


def hand_on(source: Graph, target: Graph) -> None:
    """What harvests wrote into the source is all in the target: each can go on there."""
    for harvest in source.members.known():
        target.members.admit(harvest)


def batches(records: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    rest = iter(records)
    while batch := list(islice(rest, size)):
        yield batch
