"""A concept with everything that is known of it, grouped by relation in words, both ways.

Promise: a page holds a bounded number of relations, however many there are; the next ones of a
group follow by key. Limit: where a concept has thousands of relations they stand by their URIs, not
by weight, because all of them would have to be read for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ... import uri
from ...add import Entity, Media, Relation
from ...graphs.reader import FIRST, Key, Reader, Side
from ...media.credits import Credit, as_html, as_text, attribution
from .wording import heading, sentence

EACH = 12  # relations of a group on the first page
NEXT = 60  # on the next ones
BY_WEIGHT = 5_000  # relations of a concept that are put in order
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


class Concept(NamedTuple):
    entity: Entity
    senses: Sequence[Entity]  # other concepts of the same name
    degree: int
    is_by_weight: bool
    media: Sequence[Media]
    groups: Sequence[Group]
    sources: Sequence[tuple[str, str]]  # datasets and licences of the relations shown


def concept(reader: Reader, of: str, each: int = EACH) -> Concept | None:
    entity = reader.entities_at([of]).get(of)
    if entity is None:
        return None
    degree = sum(side.number for side in reader.degree_by_side(of))
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
    """What stands for a concept among others: an image, else a gif."""
    seen = [each for each in media if each.kind in ("image", "visual")]
    return next((each for each in seen if each.kind == "image"), seen[0] if seen else None)


def _key(relation: Relation, is_by_weight: bool) -> Key:
    return (relation.weight if is_by_weight else FIRST[0], relation.uri)


def _sources(relations: Iterable[Relation]) -> list[tuple[str, str]]:
    return sorted({(each.dataset or "", each.license or "") for each in relations})


# --- credits to copy -----------------------------------------------------------------------------


class Credits(NamedTuple):
    text: str
    html: str
    bibtex: str
    lines: Sequence[tuple[Media, str]]  # for a list with links


def credits_of(owner: str, media: Sequence[Media]) -> Credits:
    text = "\n".join(as_text(Credit(owner, each) for each in media))
    entries = "\n\n".join(map(_bibtex, media))
    html = "\n".join(map(as_html, media))
    return Credits(text, html, entries, [(each, attribution(each)) for each in media])


def _bibtex(media: Media) -> str:
    values = {
        "title": media.title or media.path,
        "author": media.author,
        "year": (media.time or "")[:4],
        "url": media.page or media.source,
        "note": media.license,
    }
    lines = [f"  {name} = {{{_tex(value)}}}" for name, value in values.items() if value]
    return f"@misc{{{media.sha256[:12]},\n" + ",\n".join(lines) + "\n}"


def _tex(text: str) -> str:
    r"""What a stranger wrote closes no brace and runs no command.

    >>> print(_tex("50% {a}\\input"))
    50\% a input
    """
    bare = "".join(" " if each in "{}\\" else each for each in text)
    return " ".join("".join(f"\\{c}" if c in "%$#&_" else c for c in bare).split())
