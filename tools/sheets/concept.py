"""A concept with everything that is known of it, grouped by relation in words, both ways.

Promise: a page holds a bounded number of relations, however many there are; the next ones of a
group follow by key. Limit: where a concept has thousands of relations they stand by their URIs, not
by weight, because all of them would have to be read for that; `whole` does read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .. import uri
from ..add import Entity, Media, Relation
from ..graphs.reader import FIRST, Key, Reader, Side
from ..media.credits import Credit
from .wording import WORDS, heading, sentence

EACH = 12  # relations of a group on the first page
NEXT = 60  # on the next ones
BY_WEIGHT = 5_000  # relations of a concept that are put in order
WHOLE = 5_000  # relations of a group that a page in a file chooses from
SHOWN = 18  # of a long group, those that are seen at once, with files or without
LISTED = 300  # of the others, those that are on the page at all
SENSES = 20


class Line(NamedTuple):
    """One relation as the page of one of its ends shows it."""

    relation: Relation
    other: str  # the concept at the other end
    name: str
    language: str
    sentence: str
    media: Sequence[Media]
    picture: Media | None  # of the other end


class Group(NamedTuple):
    type: str
    is_outward: bool
    heading: str
    number: int
    lines: Sequence[Line]
    after: Key | None  # for the next lines; None at the end

    @property
    def seen(self) -> list[Line]:
        """At once: the first ones, and every one that has files."""
        return [line for at, line in enumerate(self.lines) if at < SHOWN or line.media]

    @property
    def folded(self) -> list[Line]:
        return [line for line in self.lines[SHOWN:] if not line.media][:LISTED]

    @property
    def left_out(self) -> int:
        return self.number - len(self.seen) - len(self.folded)


class Concept(NamedTuple):
    entity: Entity
    senses: Sequence[Entity]  # other concepts of the same name
    degree: int
    is_by_weight: bool
    media: Sequence[Media]
    groups: Sequence[Group]
    sources: Sequence[tuple[str, str]]  # datasets and licences of the relations shown

    @property
    def counts(self) -> dict[str, int]:
        """In the words of a page."""
        kinds = {word: sum(m.kind == kind for m in self.media) for kind, word in WORDS.items()}
        return kinds | {"relation": self.degree}

    @property
    def files(self) -> list[Credit]:
        """All that its page shows, with what they show."""
        lines = (line for group in self.groups for line in group.lines)
        of_lines = (Credit(line.relation.uri, each) for line in lines for each in line.media)
        return [*(Credit(self.entity.uri, each) for each in self.media), *of_lines]

    @property
    def relations(self) -> list[Relation]:
        return [line.relation for group in self.groups for line in group.lines]


def whole(reader: Reader, of: str) -> Concept | None:
    """For a page to which nothing can be added later: the heaviest of all its relations."""
    return concept(reader, of, WHOLE, is_by_weight=True)


def concept(
    reader: Reader, of: str, each: int = EACH, is_by_weight: bool | None = None
) -> Concept | None:
    """In order of weight unless there are too many, or as it is said."""
    entity = reader.entities_at([of]).get(of)
    if entity is None:
        return None
    degree = sum(side.number for side in reader.degree_by_side(of))
    if is_by_weight is None:
        is_by_weight = degree <= BY_WEIGHT
    sides = [side for side in reader.sides(of, each, is_by_weight) if side.relations]
    groups = _groups(reader, entity, sides, is_by_weight)
    return Concept(
        entity,
        [each for each in reader.senses(entity.name, SENSES) if each.uri != of],
        degree,
        is_by_weight,
        reader.media_of([of]).get(of, []),
        groups,
        _sources(line.relation for group in groups for line in group.lines),
    )


def more(reader: Reader, of: str, type_: str, is_outward: bool, after: Key) -> Group | None:
    """The next lines of one group."""
    entity = reader.entities_at([of]).get(of)
    if entity is None:
        return None
    sides = reader.degree_by_side(of)
    is_by_weight = sum(side.number for side in sides) <= BY_WEIGHT
    number = next((s.number for s in sides if s[:2] == (type_, is_outward)), 0)
    relations = reader.side(of, type_, is_outward, NEXT, is_by_weight, after)
    lines = _lines(reader, of, relations)
    key = _key(relations[-1], is_by_weight) if len(relations) == NEXT else None
    return Group(type_, is_outward, heading(entity.name, type_, is_outward), number, lines, key)


def _groups(
    reader: Reader, entity: Entity, sides: Sequence[Side], is_by_weight: bool
) -> list[Group]:
    """The group with the heaviest relation first."""
    lines = {
        line.relation.uri: line
        for line in _lines(reader, entity.uri, [r for side in sides for r in side.relations])
    }
    ordered = sorted(sides, key=lambda side: (-side.relations[0].weight, not side.is_outward))
    return [
        Group(
            side.type,
            side.is_outward,
            heading(entity.name, side.type, side.is_outward),
            side.number,
            [lines[each.uri] for each in side.relations],
            _key(side.relations[-1], is_by_weight) if len(side.relations) < side.number else None,
        )
        for side in ordered
    ]


def _lines(reader: Reader, here: str, relations: Sequence[Relation]) -> list[Line]:
    others = [each.end if each.start == here else each.start for each in relations]
    media = reader.media_of([*(each.uri for each in relations), *others])
    return [
        Line(
            each,
            other,
            uri.label(other),
            uri.language(other) or "",
            sentence(uri.label(each.start), each.type, uri.label(each.end)),
            media.get(each.uri, []),
            picture_of(media.get(other, ())),
        )
        for each, other in zip(relations, others, strict=True)
    ]


def picture_of(media: Iterable[Media]) -> Media | None:
    """What stands for a concept among others."""
    return next(iter(pictures_in(media)), None)


def pictures_in(media: Iterable[Media]) -> list[Media]:
    """Images, then gifs."""
    seen = [each for each in media if each.kind in ("image", "visual")]
    return sorted(seen, key=lambda each: each.kind != "image")


def _key(relation: Relation, is_by_weight: bool) -> Key:
    return (relation.weight if is_by_weight else FIRST[0], relation.uri)


def _sources(relations: Iterable[Relation]) -> list[tuple[str, str]]:
    return sorted({(each.dataset or "", each.license or "") for each in relations})
