"""Which relations a model is trained with, and which it is tried on.

Promise: whatever occurs in a relation it is tried on, both ends and the type, occurs in one it is
trained with. The same graph and seed give the same split, in whatever order relations come. About a
tenth is for validation and a tenth for tests; less if the graph has too few relations to spare.

Every entity and type keeps for training the one of its relations whose hash is the highest; from
the others as many as are needed are drawn by another hash. That takes 16 bytes for each entity,
and a hash of 64 bits stands for it: among ten million, two share one with a chance of 1 in 300,000.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..add import Graph, Relation
from ..graphs.copy import Show, batches

SIDES = ("train", "valid", "test")
HELD_OUT = 0.1  # for each of the last two

Numbers = NDArray[np.uint64]


class Split:
    """Goes through the graph once to learn what must be trained with."""

    def __init__(self, graph: Graph, seed: int, show: Show) -> None:
        self._seed = f"{seed} "
        types = (f"/r/{name}" for name in graph.relations_by_type())
        parts = [_numbers(types)]
        for entities in batches(graph.entities()):
            parts.append(_numbers(each.uri for each in entities))
            show(len(entities))
        self._names = np.unique(np.concatenate(parts))
        self._highest = np.zeros(len(self._names) + 1, np.uint64)  # the last is of strangers
        total = 0
        for relations in batches(graph.relations()):
            ranks, _ = self._hashes(relations)
            for places in self._places(relations):
                np.maximum.at(self._highest, places, ranks)
            total += len(relations)
            show(len(relations))
        self._highest[-1] = 0
        self._drawn = self._share(total)

    def sides(self, relations: Sequence[Relation]) -> list[str]:
        """One of SIDES for each; what has come since the graph was looked through is trained
        with."""
        ranks, lots = self._hashes(relations)
        is_needed = np.any([ranks >= self._highest[each] for each in self._places(relations)], 0)
        drawn = lots / 2.0**64
        side = np.select([is_needed, drawn < self._drawn / 2, drawn < self._drawn], [0, 1, 2], 0)
        return [SIDES[each] for each in side]

    def _share(self, total: int) -> float:
        """Of those that are not needed, how many are drawn."""
        needed = np.unique(self._highest[self._highest > 0]).size
        return min(1.0, 2 * HELD_OUT * total / (total - needed)) if total > needed else 0.0

    def _hashes(self, relations: Sequence[Relation]) -> tuple[Numbers, Numbers]:
        """Of the whole triple: what is trained with must not be tried on under another URI."""
        triples = (f"{self._seed}{each.type} {each.start} {each.end}" for each in relations)
        pairs = _numbers(triples, 16).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _places(self, relations: Sequence[Relation]) -> Iterable[NDArray[np.intp]]:
        ends = chain.from_iterable((each.start, f"/r/{each.type}", each.end) for each in relations)
        hashes = _numbers(ends)
        places = np.searchsorted(self._names, hashes)
        is_known = np.append(self._names, np.uint64(0))[places] == hashes
        return np.where(is_known, places, len(self._names)).reshape(-1, 3).T


def _numbers(texts: Iterable[str], size: int = 8) -> Numbers:
    digests = (blake2b(text.encode(), digest_size=size).digest() for text in texts)
    return np.frombuffer(b"".join(digests), "<u8")
