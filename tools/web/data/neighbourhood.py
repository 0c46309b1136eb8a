"""The concepts around one, as nodes and edges of a picture that grows by clicks.

Promise: no answer has more than its bound of nodes, whatever is asked; a concept of a hundred
thousand relations costs what one of a thousand costs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ... import uri
from ...add import Media, Relation
from ...graphs.reader import FIRST, Reader, Side
from ...sheets.concept import BY_WEIGHT, picture_of
from ...sheets.wording import phrase

NODES, MOST_NODES = 24, 150
KNOWN = 500  # concepts that a page already shows
READ = 2_000  # relations of a crowded concept that are looked at


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
    number: int


class Neighbourhood(NamedTuple):
    centre: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    types: Sequence[TypeChoice]  # all that the centre has
    left_out: int  # neighbours that fit the filters and are not on the page
    is_exact: bool  # else there may be more: of a crowded concept not all are looked at


def neighbourhood(
    reader: Reader,
    centre: str,
    types: Collection[str] = (),
    least_weight: float = 0.0,
    nodes: int = NODES,
    known: Sequence[str] = (),
) -> Neighbourhood | None:
    """No types means all. Concepts that are `known` are on the page already: they cost no room, and
    the relations between them and new ones come along."""
    if centre not in reader.entities_at([centre]):
        return None
    sides = reader.degree_by_side(centre)
    wanted = [side for side in sides if not types or side.type in types]
    is_crowded = sum(side.number for side in wanted) > BY_WEIGHT
    found = _heaviest(reader, centre, wanted, least_weight, is_crowded)
    known_set = frozenset([centre, *known[:KNOWN]])
    kept = _within(found, centre, min(nodes, MOST_NODES), known_set)
    left_out = _others(found, centre) - _others(kept, centre) - known_set
    return _drawn(reader, centre, kept, sides, len(left_out), not is_crowded)


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


def _others(relations: Iterable[Relation], centre: str) -> set[str]:
    return {_other(each, centre) for each in relations}


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
    relations: Sequence[Relation],
    sides: Sequence[Side],
    left_out: int,
    is_exact: bool,
) -> Neighbourhood:
    ends = dict.fromkeys([centre, *(end for each in relations for end in (each.start, each.end))])
    media = reader.media_of([*ends, *(each.uri for each in relations)])
    return Neighbourhood(
        centre,
        [node_of(each, media.get(each, ())) for each in ends],
        [edge_of(each, media.get(each.uri, ())) for each in relations],
        _choices(sides),
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


def _choices(sides: Sequence[Side]) -> list[TypeChoice]:
    numbers: dict[str, int] = {}
    for side in sides:
        numbers[side.type] = numbers.get(side.type, 0) + side.number
    ordered = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    return [TypeChoice(type_, phrase(type_), number) for type_, number in ordered]
