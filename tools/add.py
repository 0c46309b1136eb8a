"""The records of the graph, and what a graph must be able to do with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class Entity(NamedTuple):
    uri: str
    name: str
    language: str
    term: str
    sense: str | None

    @classmethod
    def of(cls, concept: str) -> Entity:
        """The name is that of the URI, never the wording of one edge."""
        _, _, language, text, *sense = concept.split("/", 4)
        name, term = text.replace("_", " "), f"/c/{language}/{text}"
        return cls(concept, name, language, term, sense[0] if sense else None)


class Relation(NamedTuple):
    uri: str
    type: str
    start: str
    end: str
    weight: float
    surface_text: str | None
    license: str | None
    dataset: str | None


class Media(NamedTuple):
    path: str
    kind: str  # image, audio, visual
    mime: str
    sha256: str
    bytes: int
    width: int | None
    height: int | None
    duration: float | None
    license: str | None
    license_url: str | None
    author: str | None
    page: str | None
    source: str | None
    provider: str | None


class Counts(NamedTuple):
    entities: int
    relations: int
    media: int


class Graph(Protocol):
    """Where records go. Every method gives the same graph when it is run twice."""

    def write(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        """How many relations were new or changed."""

    def attach(self, owner: str, media: Sequence[Media]) -> None: ...
    def counts(self) -> Counts: ...
    def relations_by_type(self) -> dict[str, int]: ...
    def neighbours(self, concept: str) -> list[Relation]: ...
    def clear(self) -> None: ...
    def close(self) -> None: ...


class Page(NamedTuple):
    """The records one concept brings."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]


class Adder:
    """Writes the records of several pages in one transaction and counts what was new."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.written = 0

    def __call__(self, pages: Sequence[Page]) -> None:
        self.written += self._graph.write(
            (entity for page in pages for entity in page.entities),
            (relation for page in pages for relation in page.relations),
        )


def endpoints(relations: Iterable[Relation]) -> list[str]:
    """Both ends of every relation, each once, in the order of the page."""
    return list(dict.fromkeys(end for each in relations for end in (each.start, each.end)))
