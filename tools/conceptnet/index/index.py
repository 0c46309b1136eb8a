"""Finds assertions by their nodes, relation, dataset and sources, heaviest first.

Promise: every assertion is found under each prefix of its start, end, relation and dataset, and
under its sources; the order is total (weight downwards, then place in the file), so pages neither
lose nor repeat one. Any number of threads may ask.
Limit: of one list, no more can be reached than the web API's largest offset and page.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple
from weakref import proxy

import numpy as np

from ...uri import is_external, parse_assertion, prefixes
from ..dump.shown import Edge, is_below
from ..rules import Filter, relation_name
from .keys import EDGE, END, START, Keys
from .near import near
from .proof import reading
from .segment import Kind, Rows, Segment, Test

CRITERIA = frozenset({"start", "end", "rel", "dataset", "source", "node", "other"})
MOST_REACHED = 101_000
MOST_NEAR = 3
FEW_READ = 30  # rows that are all read, which is quicker than to remember which they are
FEW = 1000  # rows that are sorted one by one, which for most pages is quicker than by arrays

_SLOTS = ("start", "end", "rel", "dataset", "source")


Node = tuple[str, bytes]
"""A URI and at which side of a row it stands."""


class Wanted(NamedTuple):
    """What can be looked for: nodes with their side, and named tests of kinds and origins."""

    nodes: Sequence[Node]
    masks: Mapping[Hashable, Test]


class Reached(NamedTuple):
    """The first rows, in order, as far as anybody can page, and how many there are."""

    numbers: Sequence[int]
    total: int


class Index:
    def __init__(self, folder: Path, segments: Sequence[Path], row_bits: int) -> None:
        self._folder = folder
        self._segments = [Segment(each) for each in segments]
        self._bases = list(accumulate((len(each) for each in self._segments), initial=0))
        self._keys = Keys(folder, row_bits)
        own = proxy(self)  # a cache that held us would hold our files when nobody needs them
        self._reached = lru_cache(maxsize=16)(partial(Index._reach, own))  # each up to 4 MB
        self._passes = lru_cache(maxsize=8)(partial(Index._masks, own))

    def __len__(self) -> int:
        return self._bases[-1]

    def edge(self, uri: str) -> Edge | None:
        """The assertion of exactly this /a/ URI."""
        try:
            _, start, end = parse_assertion(uri)
            nodes = [(start, START), (end, END)]
        except ValueError:
            nodes = []
        with reading(self._folder):
            numbers = [*self._keys.having(uri, EDGE), *(self._at(nodes) or ())]
            edges = map(self._edge, numbers)
            return next((edge for edge in edges if edge.said["@id"] == uri), None)

    def about(self, concept: str, wanted: Filter) -> list[Edge]:
        """Everything at a concept and its senses that a filter may keep, heaviest first."""
        passes, numbers = self._passes(wanted), []
        with reading(self._folder):
            for number in self._touching(concept):
                at = bisect_right(self._bases, number) - 1
                if passes[at][self._segments[at].kind(number - self._bases[at])]:
                    numbers.append(number)
            return self._read(concept, numbers)

    def _touching(self, node: str) -> set[int]:
        """Rows at a node, and maybe some that only share its hash."""
        return {*self._keys.having(node, START), *self._keys.having(node, END)}

    def _read(self, node: str, numbers: Iterable[int]) -> list[Edge]:
        """Those that are at this node, heaviest first."""
        name = _name(node)
        edges = [segment.edge(row) for _, _, segment, row in self._ordered(numbers)]
        return [edge for edge in edges if name in edge or edge.is_at(name)]  # `in` is the quick way

    def _ordered(self, numbers: Iterable[int]) -> list[tuple[float, int, Segment, int]]:
        """Heaviest first, of a few: how light each is, its number, and where it stands."""
        places, bases = [], self._bases
        for number in numbers:
            at = bisect_right(bases, number) - 1
            segment, row = self._segments[at], number - bases[at]
            places.append((-segment.weight(row), number, segment, row))
        return sorted(places)

    def knows(self, concept: str) -> bool:
        """Is there anything at all about it, or about one of its senses?"""
        name = _name(concept)
        with reading(self._folder):
            return any(self._edge(number).is_at(name) for number in self._touching(concept))

    def near(self, concept: str) -> list[str]:
        """Up to three concepts whose names are nearly this one.

        Those with the same letters first, then those with most edges.
        """
        with reading(self._folder):
            for names in near(concept):
                if edges := self._edges(names):
                    letters = sorted(concept)
                    order = {uri: (sorted(uri) != letters, -edges[uri], uri) for uri in edges}
                    return sorted(edges, key=order.__getitem__)[:MOST_NEAR]
        return []

    def _edges(self, uris: Sequence[str]) -> dict[str, int]:
        """How many each has, of those that have some."""
        sides = (START, END)
        known = {uri: None for side in sides for uri in self._keys.known(uris, side)}
        numbers = {uri: sum(len(self._having(uri, side)) for side in sides) for uri in known}
        return {uri: number for uri, number in numbers.items() if number}

    def find(
        self, criteria: Mapping[str, str], offset: int = 0, limit: int = 50
    ) -> tuple[list[Edge], bool]:
        """One page of what meets every criterion, and whether more follows it.

        `node` and `other` stand for the two ends, either way round; `other` alone is the end.
        """
        if unknown := criteria.keys() - CRITERIA:
            raise ValueError(f"unknown criteria {sorted(unknown)}, known are {sorted(CRITERIA)}")
        with reading(self._folder):
            if (node := _only_node(criteria)) and len(at := self._touching(node)) <= FEW_READ:
                edges = self._read(node, at)
                return edges[offset : offset + limit], len(edges) > offset + limit
            reached = self._reached(tuple(sorted(criteria.items())))
            page = [self._edge(number) for number in reached.numbers[offset : offset + limit]]
        return page, reached.total > offset + limit

    def _place(self, number: int) -> tuple[Segment, int]:
        at = bisect_right(self._bases, number) - 1
        return self._segments[at], number - self._bases[at]

    def _edge(self, number: int) -> Edge:
        segment, row = self._place(number)
        return segment.edge(row)

    def _masks(self, wanted: Filter) -> list[bytes]:
        """For each segment, which kinds a filter may keep."""
        return [segment.mask(wanted, _filter_test(wanted)) for segment in self._segments]

    def _having(self, uri: str, side: bytes) -> list[int]:
        """As the keys say; what only shares a hash is left out."""
        if not (found := self._keys.having(uri, side)):
            return found
        if self._keys.is_shared(uri, side):
            return [number for number in found if self._is_at(number, uri, side)]
        return found if self._is_at(found[0], uri, side) else []

    def _is_at(self, number: int, uri: str, side: bytes) -> bool:
        edge = self._edge(number)
        return is_below(_name(uri), edge.start if side == START else edge.end)

    def _at(self, nodes: Iterable[Node]) -> list[int] | None:
        """Rows at all of these nodes; None if there are none to be at."""
        found = [self._having(uri, side) for uri, side in nodes]
        return sorted(set(found[0]).intersection(*found[1:])) if found else None

    def _reach(self, criteria: tuple[tuple[str, str], ...]) -> Reached:
        ways = _ways(dict(criteria))
        found = [self._at(way.nodes) for way in ways]
        if all(map(_is_plain, ways, found)):
            few = self._ordered({number for numbers in found for number in numbers or ()})
            return Reached([number for _, number, _, _ in few], len(few))
        met = [self._met(way, numbers) for way, numbers in zip(ways, found, strict=True)]
        many = met[0] if len(met) == 1 else np.union1d(*met)
        return Reached(self._heaviest(many).tolist(), len(many))

    def _met(self, way: Wanted, at: list[int] | None) -> Rows:
        """Every row that is as wanted, in order."""
        numbers = None if at is None else np.array(at, np.int64)
        parts = [
            segment.passing(rows, way.masks) + base
            for segment, rows, base in self._by_segment(numbers)
        ]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _by_segment(self, numbers: Rows | None) -> Iterable[tuple[Segment, Rows | None, int]]:
        for segment, base in zip(self._segments, self._bases, strict=False):
            if numbers is None:
                yield segment, None, base
            else:
                begin, end = np.searchsorted(numbers, (base, base + len(segment)))
                yield segment, numbers[begin:end] - base, base

    def _heaviest(self, numbers: Rows) -> Rows:
        parts = [
            segment.weights[rows]
            for segment, rows, _ in self._by_segment(numbers)
            if rows is not None
        ]
        weights = np.concatenate([np.empty(0, np.float64), *parts])
        if len(numbers) > MOST_REACHED:
            least = np.partition(weights, -MOST_REACHED)[-MOST_REACHED]
            over, ties = weights > least, np.flatnonzero(weights == least)
            over[ties[: MOST_REACHED - np.count_nonzero(over)]] = True
            numbers, weights = numbers[over], weights[over]
        return numbers[np.argsort(-weights, kind="stable")]


def _is_plain(way: Wanted, numbers: Sequence[int] | None) -> bool:
    return numbers is not None and len(numbers) <= FEW and not way.masks


def _only_node(criteria: Mapping[str, str]) -> str | None:
    """Of the most usual question by far: all about a node."""
    node = criteria.get("node") if len(criteria) == 1 else None
    return None if node is None or _is_language(node) else node


def _ways(criteria: Mapping[str, str]) -> list[Wanted]:
    """What rows may look like; two ways if it is not said at which end a node is."""
    forward = _wanted(_by_slot(criteria, node="start", other="end"))
    if "node" not in criteria:
        return [forward]
    return [forward, _wanted(_by_slot(criteria, node="end", other="start"))]


def _by_slot(criteria: Mapping[str, str], node: str, other: str) -> dict[str, str]:
    wanted = {slot: criteria[slot] for slot in _SLOTS if slot in criteria}
    for role, slot in (("node", node), ("other", other)):
        if role in criteria:
            wanted[slot] = criteria[role]
    return wanted


def _wanted(slots: Mapping[str, str]) -> Wanted:
    nodes: list[Node] = []
    masks: dict[Hashable, Test] = {}
    for slot, asked in slots.items():
        if slot in ("start", "end") and not _is_language(asked):
            nodes.append((asked, START if slot == "start" else END))
        elif slot == "source":
            masks[slot, asked] = _source_pattern(asked)
        else:
            masks[slot, asked] = _kind_test(slot, asked)
    return Wanted(nodes, masks)


def _is_language(uri: str) -> bool:
    return not is_external(uri) and uri.count("/") < 3


def _kind_test(slot: str, asked: str) -> Callable[[Kind], bool]:
    match slot:
        case "rel":
            return lambda kind: asked in prefixes(kind.rel)
        case "dataset":
            return lambda kind: asked in prefixes(kind.dataset)
        case "start":
            return lambda kind: (
                kind.start_language is not None and asked == f"/c/{kind.start_language}"
            )
        case _:
            return lambda kind: kind.end_language is not None and asked == f"/c/{kind.end_language}"


def _filter_test(wanted: Filter) -> Callable[[Kind], bool]:
    return lambda kind: (
        relation_name(kind.rel) in wanted.relations
        and kind.start_language in wanted.languages
        and kind.end_language in wanted.languages
    )


def _source_pattern(asked: str) -> re.Pattern[str]:
    """A source is found from its third piece on: not all of /s/resource, but all of one."""
    text = re.escape(asked) if asked.count("/") > 2 else "(?!)"
    return re.compile(f"(?:^|\t){text}(?:/|\t|$)")


def _name(uri: str) -> bytes:
    """As it stands in an edge; what is no text stands in none."""
    return uri.encode("utf-8", "surrogatepass")
