"""The concepts around one, as nodes and edges of a picture that grows by clicks.

Promise: no answer has more than its bound of new nodes, whatever is asked; a concept of a hundred
thousand relations costs what one of a thousand costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ... import uri
from ...add import Media, Relation
from ...graphs.reader import FIRST, Link, Reader, Side
from ...sheets.concept import BY_WEIGHT, picture_of
from ...sheets.wording import phrase

NODES, MOST_NODES = 24, 150
KNOWN = 500  # concepts that a page already shows
READ = 1_000  # relations of a crowded concept that are looked at
FAR = 36  # neighbours of neighbours
LOOKED_AT, JOINING = 20_000, 600  # relations of the neighbours; ends of those that are drawn


class Node(NamedTuple):
    uri: str
    name: str
    language: str
    picture: Media | None
    has_sound: bool


class Edge(NamedTuple):
    uri: str
    source: str
    target: str
    type: str
    label: str
    weight: float
    media: Sequence[Media]


class TypeChoice(NamedTuple):
    type: str
    label: str
    number: int  # of the centre's relations


class Neighbourhood(NamedTuple):
    centre: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    types: Sequence[TypeChoice]  # all that the centre has, and those of the edges
    left_out: int  # neighbours that fit the filters and are not on the page
    is_exact: bool  # else there may be more: of a crowded concept not all are looked at


def neighbourhood(
    reader: Reader,
    centre: str,
    types: Collection[str] = (),
    least_weight: float = 0.0,
    nodes: int = NODES,
    known: Sequence[str] = (),
    depth: int = 1,
) -> Neighbourhood | None:
    """No types means all. Concepts that are `known` are on the page already: they cost no room, and
    the relations between them and new ones come along, as do those among the new ones. At a depth
    of two some neighbours of the new ones are among these."""
    if centre not in reader.entities_at([centre]):
        return None
    sides = reader.degree_by_side(centre)
    wanted = [side for side in sides if not types or side.type in types]
    is_crowded = sum(side.number for side in wanted) > BY_WEIGHT
    found = _heaviest(reader, centre, wanted, least_weight, is_crowded)
    known_set = frozenset([centre, *known[:KNOWN]])
    kept = _within(found, centre, min(nodes, MOST_NODES), known_set)
    ring = [each for each in _others(kept, centre) if each not in known_set]
    onward = _Onward(reader, tuple(types), least_weight)
    far = onward.to_new(ring, {*ring, *known_set}) if depth > 1 else []
    fresh = [*ring, *(link.there for link in far)]
    links = [*far, *onward.joining(fresh, known_set)]
    edges = {each.uri: edge_of(each, ()) for each in kept} | _edges_along(links)
    left_out = len({*_others(found, centre)} - {*fresh} - known_set)
    return _drawn(reader, centre, edges.values(), sides, left_out, not is_crowded)


class _Onward:
    """Where new concepts lead, by weight; of crowded ones not everything is looked at."""

    def __init__(self, reader: Reader, types: Sequence[str], least_weight: float) -> None:
        self._reader, self._types, self._least = reader, types, least_weight

    def to_new(self, here: Sequence[str], seen: Collection[str]) -> list[Link]:
        """One link to each: of everyone the heaviest, then the next, until there is no room."""
        found: dict[str, Link] = {}
        for link in self._links(here):
            if link.there not in seen:
                found.setdefault(link.there, link)
        turns: Counter[str] = Counter()
        ranked: list[tuple[int, Link]] = []
        for link in found.values():
            ranked.append((turns[link.here], link))
            turns[link.here] += 1
        return [link for _, link in sorted(ranked, key=lambda each: each[0])][:FAR]

    def joining(self, here: Sequence[str], known: Collection[str]) -> list[Link]:
        """The heaviest between these, and of these to those that are known."""
        return self._links(here, [*here, *known])[:JOINING]

    def _links(self, here: Sequence[str], among: Sequence[str] = ()) -> list[Link]:
        each = LOOKED_AT // max(1, 2 * len(here))
        found = self._reader.links(here, each, self._types, among)
        heavy = [link for link in found if link.weight >= self._least]
        return sorted(heavy, key=lambda link: (-link.weight, link.relation))


def _heaviest(
    reader: Reader, centre: str, sides: Sequence[Side], least_weight: float, is_crowded: bool
) -> list[Relation]:
    """All of them in order of weight, or of each type the first ones of a crowded concept."""
    found: dict[str, Relation] = {}
    for side in sides:
        limit = READ // len(sides) if is_crowded else side.number
        some = reader.side(centre, side.type, side.is_outward, limit, not is_crowded, FIRST)
        found |= {each.uri: each for each in some if each.weight >= least_weight}
    return sorted(found.values(), key=lambda relation: (-relation.weight, relation.uri))


def _others(relations: Iterable[Relation], centre: str) -> list[str]:
    return list(dict.fromkeys(_other(each, centre) for each in relations))


def _other(relation: Relation, centre: str) -> str:
    return relation.end if relation.start == centre else relation.start


def _within(
    relations: Iterable[Relation], centre: str, room: int, known: frozenset[str]
) -> list[Relation]:
    new: set[str] = set()
    kept = []
    for each in relations:
        other = _other(each, centre)
        if other in known or other in new or len(new) < room:
            new |= {other} - known
            kept.append(each)
        if len(kept) >= MOST_NODES * 3:
            break
    return kept


def _drawn(
    reader: Reader,
    centre: str,
    edges: Collection[Edge],
    sides: Sequence[Side],
    left_out: int,
    is_exact: bool,
) -> Neighbourhood:
    ends = dict.fromkeys([centre, *(end for each in edges for end in (each.source, each.target))])
    media = reader.media_of([*ends, *(each.uri for each in edges)])
    return Neighbourhood(
        centre,
        [node_of(each, media.get(each, ())) for each in ends],
        [each._replace(media=media.get(each.uri, ())) for each in edges],
        _choices(sides, edges),
        left_out,
        is_exact,
    )


def node_of(concept: str, media: Sequence[Media]) -> Node:
    has_sound = any(each.kind == "audio" for each in media)
    name, language = uri.label(concept), uri.language(concept) or ""
    return Node(concept, name, language, picture_of(media), has_sound)


def edge_of(relation: Relation, media: Sequence[Media]) -> Edge:
    return Edge(
        relation.uri,
        relation.start,
        relation.end,
        relation.type,
        phrase(relation.type),
        relation.weight,
        media,
    )


def _edges_along(links: Iterable[Link]) -> dict[str, Edge]:
    return {link.relation: _edge_along(link) for link in links}


def _edge_along(link: Link) -> Edge:
    source, target = (link.here, link.there) if link.is_outward else (link.there, link.here)
    return Edge(link.relation, source, target, link.type, phrase(link.type), link.weight, ())


def _choices(sides: Sequence[Side], edges: Collection[Edge]) -> list[TypeChoice]:
    numbers = dict.fromkeys((each.type for each in edges), 0)
    for side in sides:
        numbers[side.type] = numbers.get(side.type, 0) + side.number
    ordered = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    return [TypeChoice(type_, phrase(type_), number) for type_, number in ordered]
