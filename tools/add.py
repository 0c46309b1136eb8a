"""The records of the graph, and what a graph must be able to do with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, cast


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


def relation_type(uri: str) -> str:
    """The type of the relation with this URI; empty for an entity's, which sorts first.

    >>> relation_type("/a/[/r/IsA/,/c/en/dog/,/c/en/pet/]"), relation_type("/c/en/dog")
    ('IsA', '')
    """
    return uri.removeprefix("/a/[/r/").partition("/,/")[0] if uri.startswith("/a/") else ""


def beginning(type_: str, start: str) -> str:
    """What the URIs of all relations of this type share that begin at this concept.

    >>> beginning("IsA", "/c/en/dog")
    '/a/[/r/IsA/,/c/en/dog/,'
    """
    return f"/a/[/r/{type_}/,{start}/,"


KINDS = {"image": "image", "audio": "sound", "visual": "gif"}
"""The kinds of media, and what people call a file of each. Every other list of them is made of
this one."""


class Media(NamedTuple):
    path: str
    kind: str  # one of KINDS
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
    source: str | None  # the address the bytes came from, after redirects
    provider: str | None
    title: str | None = None
    phash: str | None = None  # 16 hexadecimal digits; near pictures differ in few of their bits
    time: str | None = None  # when it was fetched, UTC
    remark: str | None = None  # what its provider or host asks of those who use it


class Counts(NamedTuple):
    entities: int
    relations: int
    media: int


def unseen(_number: int) -> None: ...


class Members(Protocol):
    """The harvests that a graph belongs to, by their ids. They are no records."""

    def known(self) -> dict[str, int]:
        """Each of them, and in which of its runs it wrote last."""

    def admit(self, harvest: str, run: int = 0) -> None:
        """Know it from now on, until the graph is cleared; on the disk when this returns."""

    def confirm(self, harvest: str) -> None:
        """StateDamaged if the graph knows it no more. To be called by the minute: it is also the
        sign that the harvest still runs. Any thread may do it."""

    def at_work(self, harvest: str) -> AbstractContextManager[None]:
        """While this harvest writes nobody empties the graph."""

    def nobody_at_work(self) -> AbstractContextManager[None]:
        """To empty it; AlreadyRunning if a harvest writes into it."""


class Graph(Protocol):
    """Where records go. Every method gives the same graph when it is run twice."""

    @property
    def members(self) -> Members: ...

    def write(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        """All in one transaction, ends that are missing too; how many relations were new or
        changed."""

    def attach(self, media: Mapping[str, Sequence[Media]]) -> None:
        """Make these, in this order, the media of each entity or relation; earlier ones are
        gone."""

    def still(self) -> AbstractContextManager[Graph]:
        """The same graph to read, at one moment where the store can show that; who writes
        meanwhile does not have to wait."""

    def counts(self) -> Counts: ...
    def relations_by_type(self) -> dict[str, int]: ...
    def neighbours(self, concept: str) -> list[Relation]:
        """Every relation that begins or ends at a concept, the heaviest first."""

    def entities(self) -> Iterator[Entity]:
        """All of them; whoever writes meanwhile does not have to wait."""

    def relations(self) -> Iterator[Relation]: ...
    def media_of(self, owners: Sequence[str]) -> dict[str, list[Media]]:
        """The media of those that have any, as they were attached."""

    def holds(
        self,
        entities: Sequence[Entity] = (),
        relations: Sequence[Relation] = (),
        media: Sequence[Media] = (),
    ) -> int:
        """How many of these are in the graph."""

    def clear(self, deleted: Callable[[int], object] = unseen) -> None:
        """It belongs to nobody any more. Reports how many records went, again and again."""

    def close(self) -> None: ...


class Page(NamedTuple):
    """The records one concept brings."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]


class Attachment(NamedTuple):
    """What the search for media of one entity or relation brings."""

    owner: str
    media: Sequence[Media]
    search: Mapping[str, object]  # how it went: who was asked, what was refused and why

    @property
    def refused(self) -> Sequence[Mapping[str, str]]:
        return cast(Sequence[Mapping[str, str]], self.search["refused"])


def keep_no_books(_attachments: Sequence[Attachment]) -> None: ...
def require_nothing(_attachments: Sequence[Attachment]) -> None: ...


class Adder:
    """Writes the records of several tasks together and counts what was new."""

    def __init__(
        self,
        graph: Graph,
        book: Callable[[Sequence[Attachment]], None] = keep_no_books,
        require: Callable[[Sequence[Attachment]], None] = require_nothing,
    ) -> None:
        self._graph = graph
        self._book = book
        self._require = require
        self.written = 0
        self.media: Counter[str] = Counter()

    def __call__(self, records: Sequence[Page | Attachment]) -> None:
        pages = [each for each in records if isinstance(each, Page)]
        attachments = [each for each in records if isinstance(each, Attachment)]
        if pages:
            self.written += self._graph.write(
                (entity for page in pages for entity in page.entities),
                (relation for page in pages for relation in page.relations),
            )
        if attachments:
            self._attach(attachments)

    def _attach(self, attachments: Sequence[Attachment]) -> None:
        """First their files must be there. Then the graph: what it does not take must not stand in
        the books. No file without its concept: one that an older version left out comes now."""
        self._require(attachments)
        owners = [each.owner for each in attachments if not each.owner.startswith("/a/")]
        if owners:
            self._graph.write(map(Entity.of, owners), ())
        self._graph.attach({each.owner: each.media for each in attachments})
        self._book(attachments)
        for each in attachments:
            self.media.update(file.kind for file in each.media)


def endpoints(relations: Iterable[Relation]) -> list[str]:
    """Both ends of every relation, each once, in the order of the page."""
    return list(dict.fromkeys(end for each in relations for end in (each.start, each.end)))


def with_ends(entities: Iterable[Entity], relations: Iterable[Relation]) -> list[Entity]:
    """These entities and whatever a relation begins or ends at, each once."""
    known = {each.uri: each for each in entities}
    for relation in relations:
        for end in (relation.start, relation.end):
            if end not in known:
                known[end] = Entity.of(end)
    return list(known.values())


def by_kind(media: Iterable[Media]) -> dict[str, list[str] | None]:
    """The paths of each kind, None for a kind without files."""
    paths: dict[str, list[str] | None] = dict.fromkeys(KINDS)
    for each in media:
        paths[each.kind] = [*(paths[each.kind] or []), each.path]
    return paths
