"""Copies one graph into another, and looks whether everything arrived.

Promise: stopped anywhere, the same copy can be begun again: what has arrived is written once more
and stays as it is. Nothing in the target is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

from tools.add import Counts, Graph, Media

BATCH = 5000  # records in a transaction: see bench/RESULTS.md

T = TypeVar("T")
Show = Callable[[int], object]
"""Told how many more records are done."""


def copy(source: Graph, target: Graph, show: Show) -> None:
    """Entities go first, so that their relations find them."""
    for entities in batches(source.entities()):
        target.write(entities, ())
        _copy_media(source, target, [each.uri for each in entities], show)
        show(len(entities))
    for relations in batches(source.relations()):
        target.write((), relations)
        _copy_media(source, target, [each.uri for each in relations], show)
        show(len(relations))


def _copy_media(source: Graph, target: Graph, owners: Sequence[str], show: Show) -> None:
    if media := source.media_of(owners):
        target.attach(media)
        show(sum(map(len, media.values())))


def arrived(source: Graph, target: Graph, show: Show) -> Counts:
    """How many records of the source the target holds."""
    entities = relations = media = 0
    for some in batches(source.entities()):
        entities += target.holds(entities=some)
        media += target.holds(media=_media_of(source, [each.uri for each in some]))
        show(len(some))
    for links in batches(source.relations()):
        relations += target.holds(relations=links)
        media += target.holds(media=_media_of(source, [each.uri for each in links]))
        show(len(links))
    return Counts(entities, relations, media)


def _media_of(source: Graph, owners: Sequence[str]) -> list[Media]:
    return list(chain.from_iterable(source.media_of(owners).values()))


def batches(records: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    rest = iter(records)
    while batch := list(islice(rest, size)):
        yield batch
