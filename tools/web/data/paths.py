"""Shortest paths between two concepts, over relations in either direction.

From both ends in turn, always from the side that has fewer to go on from, until they meet.

Promise: it ends in time, whatever the graph is like. Limit: of a concept with very many relations
only some are gone along, and after the deadline or the bound of concepts nothing further is looked
at; the answer says whether that happened, because then there may be a shorter or heavier path.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice, product
from typing import NamedTuple

from ...graphs.reader import Link, Reader
from .neighbourhood import Edge, Node, edge_of, node_of

LONGEST, SHOWN = 8, 6  # relations of a path; paths
SECONDS, LOOKED_AT = 2.0, 20_000  # concepts
EACH, AT_ONCE = 500, 100  # relations of a concept and direction; concepts asked for at once
AT_LEAST = 300  # ways that are compared, however late it is

Way = list[Link]


class Path(NamedTuple):
    nodes: Sequence[Node]
    edges: Sequence[Edge]  # each between two nodes that follow each other, either way round


class Paths(NamedTuple):
    paths: Sequence[Path]  # all equally long, the heaviest first
    is_complete: bool  # nothing was passed over
    looked_at: int


class _Side:
    """All that is known from one end: who is how far, and by which links they were reached."""

    def __init__(self, start: str) -> None:
        self.distance = {start: 0}
        self.links: dict[str, list[Link]] = {}
        self.ways: dict[str, list[Way]] = {start: [[]]}
        self.edge = [start]
        self.depth = 0


class _Search:
    def __init__(self, reader: Reader, seconds: float, looked_at: int) -> None:
        self._reader = reader
        self._until = time.monotonic() + seconds
        self._room = looked_at
        self.is_complete = True

    def is_late(self) -> bool:
        return time.monotonic() >= self._until

    def is_over(self, sides: Sequence[_Side]) -> bool:
        if not self.is_late() and sum(len(s.distance) for s in sides) < self._room:
            return False
        self.is_complete = False
        return True

    def grow(self, side: _Side, sides: Sequence[_Side]) -> None:
        """One relation further; every way of that length to a concept is kept."""
        side.depth += 1
        reached: dict[str, None] = {}
        rest = iter(side.edge)
        while (some := list(islice(rest, AT_ONCE))) and not self.is_over(sides):
            links = self._reader.links(some, EACH)
            self._note_crowds(links)
            for link in links:
                if side.distance.setdefault(link.there, side.depth) == side.depth:
                    side.links.setdefault(link.there, []).append(link)
                    reached[link.there] = None
        side.edge = list(reached)

    def _note_crowds(self, links: Sequence[Link]) -> None:
        numbers: dict[tuple[str, bool], int] = {}
        for link in links:
            key = (link.here, link.is_outward)
            numbers[key] = numbers.get(key, 0) + 1
        if any(number >= EACH for number in numbers.values()):
            self.is_complete = False


def paths(
    reader: Reader,
    start: str,
    end: str,
    longest: int = LONGEST,
    seconds: float = SECONDS,
    looked_at: int = LOOKED_AT,
) -> Paths | None:
    """None if one of the two is not in the graph."""
    if not {start, end} <= reader.entities_at([start, end]).keys():
        return None
    search = _Search(reader, seconds, looked_at)
    one, other = _Side(start), _Side(end)
    sides = (one, other)
    while not (one.distance.keys() & other.distance.keys()):
        is_stuck = not one.edge or not other.edge or one.depth + other.depth >= longest
        if is_stuck or search.is_over(sides):
            break
        search.grow(min(sides, key=lambda side: len(side.edge)), sides)
    found = _heaviest(_joined(one, other), search)
    seen = len(one.distance) + len(other.distance)
    return Paths(_drawn(reader, start, end, found), search.is_complete, seen)


def _heaviest(ways: Iterable[Way], search: _Search) -> list[Way]:
    """Of all that there was time for; of some even if there was none left."""

    def in_time() -> Iterator[Way]:
        for number, way in enumerate(ways):
            if number >= AT_LEAST and search.is_late():
                search.is_complete = False
                return
            yield way

    return nlargest(SHOWN, in_time(), key=lambda way: sum(link.weight for link in way))


def _joined(one: _Side, other: _Side) -> Iterator[Way]:
    """Shortest ways through the concepts where both sides met, some of each."""
    met = one.distance.keys() & other.distance.keys()
    length = min((one.distance[each] + other.distance[each] for each in met), default=0)
    for middle in sorted(met):
        if one.distance[middle] + other.distance[middle] == length:
            for back, ahead in product(_ways(one, middle), _ways(other, middle)):
                yield [*back, *reversed(ahead)]


def _ways(side: _Side, to: str) -> list[Way]:
    """Ways from the end of a side, heaviest links first; bounded, because there may be many."""
    if to not in side.ways:
        links = sorted(side.links[to], key=lambda link: (-link.weight, link.relation))[:SHOWN]
        found = ([*before, link] for link in links for before in _ways(side, link.here))
        side.ways[to] = list(islice(found, SHOWN))
    return side.ways[to]


def _drawn(reader: Reader, start: str, end: str, ways: Sequence[Sequence[Link]]) -> list[Path]:
    concepts = {each for way in ways for link in way for each in (link.here, link.there)}
    uris = {link.relation for way in ways for link in way}
    relations = reader.relations_at(sorted(uris))
    media = reader.media_of([start, end, *concepts, *uris])
    edges = {each: edge_of(relations[each], media.get(each, ())) for each in relations}
    drawn = []
    for way in ways:
        if all(link.relation in edges for link in way):
            nodes = [node_of(each, media.get(each, ())) for each in _concepts(start, way)]
            drawn.append(Path(nodes, [edges[link.relation] for link in way]))
    return drawn


def _concepts(start: str, way: Sequence[Link]) -> list[str]:
    """Links of the far side lead backwards."""
    seen = [start]
    for link in way:
        seen.append(link.there if link.here == seen[-1] else link.here)
    return seen
