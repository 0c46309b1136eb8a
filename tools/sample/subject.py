"""What a text of the sample is about: one thing, or two and the relation between them.

Promise: decided by the sample's own assertions and by `kinds.tsv`, our list of words for each
motif. A thing of which neither says anything has the motif of a thing.

>>> subject("guide dog"), motif_of("guide dog"), motif_of("walk dog")
(Subject(relation='', start='guide dog', end=''), 'dog', 'dog')
>>> subject("dog can bark")
Subject(relation='CapableOf', start='dog', end='bark')
>>> motif_of("xyzzy"), motif_of("twenty one")
('thing', 'number 21')
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from .. import uri
from ..conceptnet import rules
from . import world

KINDS = Path(__file__).with_name("kinds.tsv")
UNKNOWN = "thing"
SAID = {
    "PartOf": "is part of",
    "HasProperty": "is",
    "AtLocation": "is at",
    "Causes": "causes",
    "HasA": "has",
    "UsedFor": "is used for",
    "CapableOf": "can",
    "MadeOf": "is made of",
    "ReceivesAction": "can be",
    "CreatedBy": "is made by",
    "LocatedNear": "is near",
}
"""What a picture says between the two ends."""

_DOINGS = ("CapableOf", "UsedFor", "ReceivesAction", "HasSubevent", "HasPrerequisite", "Desires")
_ROLES = dict.fromkeys(_DOINGS, "action") | {
    "AtLocation": "place",
    "MadeOf": "material",
    "HasProperty": "quality",
    "HasA": "part",
    "CreatedBy": "person",
}
_ENDINGS = ("", "s", "es", "ing", "ed", "'s")


class Subject(NamedTuple):
    relation: str  # empty if it is one thing
    start: str
    end: str = ""


class Known(NamedTuple):
    """What the assertions say, by names as people read them."""

    relations: Mapping[str, Subject]  # by what is asked for them
    kinds: Mapping[str, list[str]]  # what a thing is
    roles: Mapping[str, str]  # the motif of what is only met as the end of a relation


def subject(text: str) -> Subject:
    """A name that is also asked for as a relation is a thing."""
    return _known().relations.get(text, Subject("", text))


@lru_cache(maxsize=8_192)
def motif_of(name: str) -> str:
    """The nearest of its kinds that has one; else that of its last word that has; else its role."""
    if name in world.NUMBERS:
        return f"number {world.NUMBERS.index(name) + 1}"
    words = name.split()
    for each in (name, *(" ".join(words[at:]) for at in range(1, len(words))), *words[-2::-1]):
        if found := _by_kind(each):
            return found
    return _known().roles.get(name, UNKNOWN)


def ends_of(about: Subject) -> tuple[str, str]:
    """The motifs of both; one that would be the same is shown as what it is for the other."""
    start, end = motif_of(about.start), motif_of(about.end)
    if start != end:
        return start, end
    if about.relation == "PartOf":
        return "part", end
    role = _ROLES.get(about.relation, UNKNOWN)
    return start, role if role != start else "part"


def _by_kind(name: str) -> str | None:
    """First what it is itself, then what that is, as far as the sample knows."""
    near, met = [name], {name}
    while near:
        for each in near:
            if motif := _listed(each):
                return motif
        near = [kind for each in near for kind in _known().kinds.get(each, ()) if kind not in met]
        met.update(near)
    return None


def _listed(name: str) -> str | None:
    stems = (name.removesuffix(ending) for ending in _ENDINGS)
    return next((_words()[stem] for stem in stems if stem in _words()), None)


@cache
def _words() -> Mapping[str, str]:
    with KINDS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    return {word: motif for motif, words in reversed(rows) for word in words.split(", ")}


@cache
def _known() -> Known:
    relations: dict[str, Subject] = {}
    kinds, roles, names = defaultdict[str, list[str]](list), dict[str, str](), set[str]()
    for relation, start, end in _assertions(world.lines()):
        one, other = uri.label(start), uri.label(end)
        names |= {one, other}
        if relation == "IsA":
            kinds[one].append(other)
        if rules.is_showable(relation):
            text = rules.relation_search_text(relation, start, end)
            relations.setdefault(text, Subject(relation, one, other))
        if relation in _ROLES:
            roles.setdefault(other, _ROLES[relation])
    return Known({text: it for text, it in relations.items() if text not in names}, kinds, roles)


def _assertions(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        _, rel, start, end, _ = line.split("\t", 4)
        if start.startswith("/c/en/") and end.startswith("/c/en/"):
            yield rules.relation_name(rel), start, end
