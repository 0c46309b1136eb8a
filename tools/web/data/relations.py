"""The page of one relation, and that of a type of relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ... import uri
from ...add import Media, Relation
from ...graphs.reader import FIRST, Key, Reader, Side
from ...sheets.concept import picture_of
from ...sheets.wording import phrase, sentence
from .statistics import Statistics, TypeShare

PAGE = 60
STRETCH = 5_000  # relations that are read at once where all are


class End(NamedTuple):
    uri: str
    name: str
    picture: Media | None


class Shown(NamedTuple):
    relation: Relation
    start: End
    end: End
    sentence: str
    media: Sequence[Media]


class TypePage(NamedTuple):
    type: str
    phrase: str
    share: TypeShare | None  # as it was counted last; None if that was never done
    counted_at: str
    heaviest: Sequence[Shown]  # of those that were counted, on the first page only
    relations: Sequence[Shown]
    after: str  # the key of the next page; empty at the end


def relation(reader: Reader, of: str) -> Shown | None:
    found = reader.relations_at([of]).get(of)
    return None if found is None else shown(reader, [found])[0]


def every(reader: Reader, concept: str) -> Iterator[Relation]:
    """All that begin or end there, each once, by type and URI; read as they are taken."""
    for side in reader.degree_by_side(concept):
        for each in _stretches(reader, concept, side):
            if side.is_outward or each.start != concept:
                yield each


def _stretches(reader: Reader, concept: str, side: Side) -> Iterator[Relation]:
    after: Key | None = FIRST
    while after is not None:
        some = reader.side(concept, side.type, side.is_outward, STRETCH, False, after)
        yield from some
        after = (FIRST[0], some[-1].uri) if len(some) == STRETCH else None


def type_page(
    reader: Reader, type_: str, statistics: Statistics | None, after: str = ""
) -> TypePage:
    found = reader.of_type(type_, PAGE, after)
    shares = statistics.types if statistics else ()
    share = next((each for each in shares if each.type == type_), None)
    heaviest = reader.relations_at(share.heaviest) if share and not after else {}
    return TypePage(
        type_,
        phrase(type_),
        share,
        statistics.time if statistics else "",
        shown(reader, sorted(heaviest.values(), key=lambda each: (-each.weight, each.uri))),
        shown(reader, found),
        found[-1].uri if len(found) == PAGE else "",
    )


def shown(reader: Reader, relations: Sequence[Relation]) -> list[Shown]:
    ends = dict.fromkeys(end for each in relations for end in (each.start, each.end))
    media = reader.media_of([*ends, *(each.uri for each in relations)])
    known = {each: End(each, uri.label(each), picture_of(media.get(each, ()))) for each in ends}
    return [
        Shown(
            each,
            known[each.start],
            known[each.end],
            sentence(known[each.start].name, each.type, known[each.end].name),
            media.get(each.uri, []),
        )
        for each in relations
    ]
