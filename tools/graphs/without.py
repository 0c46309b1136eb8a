"""A graph to read, without some of its files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from ..add import Graph, Media


class _Without:
    def __init__(self, graph: Graph, hashes: Collection[str]) -> None:
        self._graph, self._hashes = graph, hashes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def media_of(self, owners: Sequence[str]) -> dict[str, list[Media]]:
        found = {
            owner: [each for each in files if each.sha256 not in self._hashes]
            for owner, files in self._graph.media_of(owners).items()
        }
        return {owner: files for owner, files in found.items() if files}

    @contextmanager
    def still(self) -> Iterator[Graph]:
        with self._graph.still() as moment:
            yield without(moment, self._hashes)


def without(graph: Graph, hashes: Collection[str]) -> Graph:
    """The same graph without the files of these SHA-256. What it counts, it counts with them."""
    return cast(Graph, _Without(graph, hashes)) if hashes else graph
