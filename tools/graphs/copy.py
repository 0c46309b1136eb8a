"""Copies one graph into another, and looks whether everything arrived.

Promise: stopped anywhere, the same copy can be begun again: what has arrived is written once more
and stays as it is. Nothing in the target is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from ..add import Counts, Entity, Graph, Media, Relation

BATCH = 5000  # records in a transaction: see bench/RESULTS.md

T = TypeVar("T")
Show = Callable[[int], object]
"""Called with how many more records are done."""


class Part(NamedTuple):
    """Some records of a graph, and the media of each that has any."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]
    media: dict[str, list[Media]]

    @property
    def files(self) -> list[Media]:
        return list(chain.from_iterable(self.media.values()))

    @property
    def counts(self) -> Counts:
        return Counts(len(self.entities), len(self.relations), len(self.files))

    @property
    def size(self) -> int:
        return sum(self.counts)


class Copied(NamedTuple):
    """How many records there were to copy, and how many of them the target holds."""

    whole: Counts
    there: Counts


def parts(graph: Graph) -> Iterator[Part]:
    """All of a graph, and every end of a relation though it may grow meanwhile: entities are read
    after the relations that need them."""
    yield from _relations(graph)
    yield from _entities(graph)


def _entities(graph: Graph) -> Iterator[Part]:
    for entities in batches(graph.entities()):
        yield Part(entities, (), graph.media_of([each.uri for each in entities]))


def _relations(graph: Graph) -> Iterator[Part]:
    for relations in batches(graph.relations()):
        yield Part((), relations, graph.media_of([each.uri for each in relations]))


def copy(source: Graph, target: Graph, show: Show) -> Copied:
    """Entities come first: a target makes an end that it lacks itself, of its URI alone. Every part
    is looked for as soon as it is written."""
    read = there = Counts(0, 0, 0)
    with source.still() as moment:
        whole = moment.counts()
        for part in chain(_entities(moment), _relations(moment)):
            _write(part, target)
            read, there = _sum(read, part.counts), _sum(there, arrived(part, target))
            show(part.size)
        is_still = moment.counts() == whole
    return Copied(whole if is_still else read, there)


def _write(part: Part, target: Graph) -> None:
    target.write(part.entities, part.relations)
    if part.media:
        target.attach(part.media)


def arrived(part: Part, target: Graph) -> Counts:
    """How many records of the part the target holds."""
    return Counts(
        target.holds(entities=part.entities),
        target.holds(relations=part.relations),
        target.holds(media=part.files),
    )


def _sum(one: Counts, other: Counts) -> Counts:
    return Counts(*map(sum, zip(one, other, strict=True)))


def hand_on(source: Graph, target: Graph) -> None:
    """What harvests wrote into the source is all in the target: each can go on there."""
    for harvest, run in source.members.known().items():
        target.members.admit(harvest, run)


def batches(records: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    rest = iter(records)
    while batch := list(islice(rest, size)):
        yield batch
