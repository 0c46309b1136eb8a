"""What the harvest keeps, what gets media, and what to search for. Pure functions.

>>> relation_search_text("CapableOf", "/c/en/dog", "/c/en/bark")
'dog can bark'
>>> relation_search_text("PartOf", "/c/en/washington,_d.c", "/c/en/united_states")
'washington, d.c united states'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import uri
from ..add import Relation

RELATIONS = (
    "IsA",
    "PartOf",
    "HasA",
    "UsedFor",
    "CapableOf",
    "HasProperty",
    "MannerOf",
    "MadeOf",
    "ReceivesAction",
    "AtLocation",
    "Causes",
    "HasSubevent",
    "HasFirstSubevent",
    "HasLastSubevent",
    "HasPrerequisite",
    "MotivatedByGoal",
    "ObstructedBy",
    "Desires",
    "CreatedBy",
    "DistinctFrom",
    "SymbolOf",
    "DefinedAs",
    "LocatedNear",
    "HasContext",
    "SimilarTo",
    "CausesDesire",
)
"""The relations kept unless the settings say otherwise."""

ALL_RELATIONS = (
    *RELATIONS,
    "Antonym",
    "DerivedFrom",
    "EtymologicallyDerivedFrom",
    "EtymologicallyRelatedTo",
    "Entails",
    "FormOf",
    "InstanceOf",
    "NotCapableOf",
    "NotDesires",
    "NotHasProperty",
    "NotUsedFor",
    "RelatedTo",
    "Synonym",
)
"""What a setting may name. ExternalURL is no relation between concepts."""

CONNECTIVES = {
    "PartOf": "",
    "HasProperty": "",
    "AtLocation": "",
    "Causes": "",
    "HasA": "has",
    "UsedFor": "used for",
    "CapableOf": "can",
    "MadeOf": "is made of",
    "ReceivesAction": "can be",
    "CreatedBy": "created by",
    "LocatedNear": "near",
}
"""The relations that can be shown, and the words that join their ends in a search."""

KEPT, TOO_LIGHT = "relations_kept", "relations_too_light"
"""What the pools count: relations on all pages, and those that only weigh too little."""


def is_showable(relation: str) -> bool:
    """Does a relation of this type get media? Every concept does."""
    return relation in CONNECTIVES


def is_groundable(relation: Relation) -> bool:
    """Can it be shown? And is its URI its own, not just what a page calls it?"""
    expected = uri.assertion(f"/r/{relation.type}", relation.start, relation.end)
    return is_showable(relation.type) and relation.uri == expected


def search_text(owner: str) -> str:
    """What to search for, for a concept or a relation that can be shown.

    >>> search_text("/a/[/r/CapableOf/,/c/en/dog/n/,/c/en/bark/]")
    'dog can bark'
    """
    if not owner.startswith("/a/"):
        return concept_search_text(owner)
    rel, start, end = uri.parse_assertion(owner)
    return relation_search_text(relation_name(rel), start, end)


def concept_search_text(concept: str) -> str:
    """
    >>> concept_search_text("/c/en/guide_dog/n/wn/animal")
    'guide dog'
    """
    return uri.label(concept)


def relation_search_text(relation: str, start: str, end: str) -> str:
    """The words between are English: between those of another language they find nothing."""
    is_english = uri.language(start) == uri.language(end) == "en"
    between = CONNECTIVES[relation] if is_english else ""
    words = (uri.label(start), between, uri.label(end))
    return " ".join(word for word in words if word)


def relation_name(rel: str) -> str:
    """
    >>> relation_name("/r/IsA")
    'IsA'
    """
    return rel.removeprefix("/r/")


_SPELLINGS = {name.lower(): name for name in ALL_RELATIONS}


def spelled(names: Iterable[str]) -> tuple[str, ...]:
    """As ConceptNet writes them, however a person does; unknown ones are left as they are.

    >>> spelled(["isa", "/r/PartOf", "zzz"])
    ('IsA', 'PartOf', 'zzz')
    """
    return tuple(_SPELLINGS.get(relation_name(name).lower(), name) for name in names)


@dataclass(frozen=True, slots=True)
class Filter:
    """What it rejects does not exist for the walk."""

    languages: frozenset[str]
    min_weight: float
    relations: frozenset[str]
    senses: bool
    beginnings: tuple[str, ...]  # of concepts in one of the languages

    @classmethod
    def of(
        cls, languages: Iterable[str], min_weight: float, relations: Iterable[str], senses: bool
    ) -> Filter:
        wanted = frozenset(languages)
        beginnings = tuple(f"/c/{language}/" for language in sorted(wanted))
        return cls(wanted, min_weight, frozenset(relations), senses, beginnings)

    def keeps(self, relation: str, start: str, end: str, weight: float) -> bool:
        """Both ends well-formed concepts of a wanted language, heavy enough, a wanted type."""
        return (
            weight >= self.min_weight
            and relation in self.relations
            and start.startswith(self.beginnings)
            and end.startswith(self.beginnings)
            and uri.is_concept(start)
            and uri.is_concept(end)
        )

    def belongs_to(self, concept: str, start: str, end: str) -> bool:
        """A page also lists what its senses are tied to; the settings may leave that out."""
        return self.senses or concept in (start, end)
