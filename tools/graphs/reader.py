"""What pages and statistics ask of a graph, whichever store it is in.

Promise: nothing is changed, whoever writes does not have to wait, and every list is bounded by its
asker; what follows is found by a key, so that the last page costs what the first one does. Any
thread may ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..add import Counts, Entity, Media, Relation

HEAVIEST = 12  # of a type
Key = tuple[float, str]
"""The weight and the URI of the relation that a page ended with."""


class Side(NamedTuple):
    """The relations of one type that begin at a concept, or that end there."""

    type: str
    is_outward: bool
    number: int  # all there are
    relations: Sequence[Relation]  # those that were asked for


class Link(NamedTuple):
    """One relation as a step from a concept to another."""

    here: str
    there: str
    relation: str
    type: str
    weight: float
    is_outward: bool


class File(NamedTuple):
    owner: str
    media: Media


class Name(NamedTuple):
    """A concept as a search lists it."""

    uri: str
    name: str
    language: str
    degree: int


class TypeNumbers(NamedTuple):
    """The relations of one type: how many have files of which kind, and the URIs of the
    heaviest."""

    type: str
    number: int
    least_weight: float
    mean_weight: float
    most_weight: float
    with_image: int
    with_audio: int
    with_visual: int
    with_any: int
    heaviest: Sequence[str]


class MediaNumbers(NamedTuple):
    kind: str
    provider: str | None
    license: str | None
    number: int
    bytes: int


class Numbers(NamedTuple):
    """A whole graph, counted; it is read from end to end."""

    counts: Counts
    concepts_with: dict[str, int]  # by kind of media, and "any"
    languages: dict[str, int]
    types: Sequence[TypeNumbers]
    media: Sequence[MediaNumbers]
    files_an_owner: dict[int, int]  # how many owners have so many files
    degrees: dict[int, int]  # how many concepts have so many relations; a loop counts twice


class Reader(Protocol):
    def counts(self) -> Counts: ...
    def change_mark(self) -> str:
        """Another text after a change; it may be another one without a change, too."""

    def entities_at(self, uris: Sequence[str]) -> dict[str, Entity]: ...
    def relations_at(self, uris: Sequence[str]) -> dict[str, Relation]: ...
    def media_of(self, owners: Sequence[str]) -> dict[str, list[Media]]:
        """The media of those that have any, as they were attached."""

    def files_at(self, paths: Sequence[str]) -> dict[str, File]: ...
    def senses(self, name: str, limit: int) -> list[Entity]:
        """The concepts of exactly this name, by their URIs."""

    def degree_by_side(self, concept: str) -> list[Side]:
        """How many relations of each type and direction; none of them itself."""

    def sides(self, concept: str, each: int, is_by_weight: bool) -> list[Side]:
        """The first relations of each type and direction: the heaviest, or by their URIs."""

    def side(
        self, concept: str, type_: str, is_outward: bool, limit: int, is_by_weight: bool, after: Key
    ) -> list[Relation]:
        """The next ones of one of them."""

    def of_type(self, type_: str, limit: int, after: str) -> list[Relation]:
        """Relations of a type by their URIs."""

    def links(
        self,
        concepts: Sequence[str],
        each: int,
        types: Sequence[str] = (),
        among: Sequence[str] = (),
    ) -> list[Link]:
        """Where these lead in one step, either way: by relations of these types, and to these
        concepts; none named is all. Of each end's at most so many are looked at."""

    def entity_page(self, after: str, limit: int) -> list[Name]:
        """Concepts by their URIs."""

    def file_page(self, after: str, limit: int) -> list[File]:
        """Files by their paths."""

    def numbers(self) -> Numbers:
        """Minutes for the largest graphs: to be asked aside."""

    def close(self) -> None: ...


FIRST: Key = (float("inf"), "")
