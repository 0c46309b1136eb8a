"""The records of the graph, and writing them.

Promise: `add` returns when the records are committed, and not before. Workers that finish at the
same time share a transaction: one transaction for each concept is what makes loading slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, Protocol

from tools import uri
from tools.errors import Unavailable

MOST_AT_ONCE = 64  # pages in one transaction
LONGEST_COMMIT_S = 300.0


class Entity(NamedTuple):
    uri: str
    name: str
    language: str
    term: str
    sense: str | None

    @classmethod
    def of(cls, concept: str) -> Entity:
        """The name is that of the URI, never the wording of one edge."""
        language = uri.language(concept) or ""
        return cls(concept, uri.label(concept), language, uri.term(concept), uri.sense(concept))


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


def endpoints(relations: Iterable[Relation]) -> list[str]:
    """Both ends of every relation, each once, in the order of the page."""
    return list(dict.fromkeys(end for each in relations for end in (each.start, each.end)))


class Adder(Thread):
    """The one thread that writes to the graph. Others hand it records and wait."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(name="adder", daemon=True)
        self._graph = graph
        self._inbox: SimpleQueue[_Request | None] = SimpleQueue()
        self.written = 0

    def add(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Write and wait for the commit; raises what the graph raised."""
        request = _Request(entities, relations, SimpleQueue())
        self._inbox.put(request)
        try:
            error = request.verdict.get(timeout=LONGEST_COMMIT_S)
        except Empty:
            error = Unavailable(f"the graph did not commit within {LONGEST_COMMIT_S:.0f} s")
        if error is not None:
            raise error

    def close(self) -> None:
        """Ends after everything handed in before this."""
        self._inbox.put(None)
        self.join()

    def run(self) -> None:
        while (first := self._inbox.get()) is not None:
            batch, is_last = self._gather(first)
            self._write(batch)
            if is_last:
                return

    def _gather(self, first: _Request) -> tuple[list[_Request], bool]:
        """Everything that waits now, up to the limit; and whether the end was among it."""
        batch = [first]
        while len(batch) < MOST_AT_ONCE:
            try:
                request = self._inbox.get_nowait()
            except Empty:
                break
            if request is None:
                return batch, True
            batch.append(request)
        return batch, False

    def _write(self, batch: list[_Request]) -> None:
        try:
            self.written += self._graph.write(
                (entity for request in batch for entity in request.entities),
                (relation for request in batch for relation in request.relations),
            )
        except Exception as error:
            self._fail(batch, error)
            return
        for request in batch:
            request.verdict.put(None)

    def _fail(self, batch: list[_Request], error: Exception) -> None:
        """One page's records may be to blame: alone, each gets its own verdict."""
        if len(batch) == 1:
            batch[0].verdict.put(error)
        else:
            for request in batch:
                self._write([request])


class _Request(NamedTuple):
    entities: Sequence[Entity]
    relations: Sequence[Relation]
    verdict: SimpleQueue[Exception | None]  # one: None when it is committed
