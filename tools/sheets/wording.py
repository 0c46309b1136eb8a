"""Concepts, relations and files in words."""

from __future__ import annotations

import re

from .. import uri

SECTIONS = {"image": "Pictures", "visual": "Moving pictures", "audio": "Sounds"}
WORDS = {"image": "picture", "visual": "gif", "audio": "sound"}

PHRASES = {
    "IsA": "is a kind of",
    "PartOf": "is part of",
    "HasA": "has",
    "UsedFor": "is used for",
    "CapableOf": "is capable of",
    "HasProperty": "is",
    "MannerOf": "is a way to",
    "MadeOf": "is made of",
    "ReceivesAction": "can be",
    "AtLocation": "is found at",
    "Causes": "causes",
    "HasSubevent": "includes",
    "HasFirstSubevent": "begins with",
    "HasLastSubevent": "ends with",
    "HasPrerequisite": "requires",
    "MotivatedByGoal": "is done for",
    "ObstructedBy": "is hindered by",
    "Desires": "wants",
    "CreatedBy": "is created by",
    "DistinctFrom": "is not the same as",
    "SymbolOf": "is a symbol of",
    "DefinedAs": "is defined as",
    "LocatedNear": "is near",
    "HasContext": "belongs to the field of",
    "SimilarTo": "is similar to",
    "CausesDesire": "makes one want",
    "Antonym": "is the opposite of",
    "DerivedFrom": "is derived from",
    "EtymologicallyDerivedFrom": "comes from the word",
    "EtymologicallyRelatedTo": "has the same origin as",
    "Entails": "entails",
    "FormOf": "is a form of",
    "InstanceOf": "is an instance of",
    "NotCapableOf": "is not capable of",
    "NotDesires": "does not want",
    "NotHasProperty": "is not",
    "NotUsedFor": "is not used for",
    "RelatedTo": "is related to",
    "Synonym": "means the same as",
}


def phrase(type_: str) -> str:
    """
    >>> phrase("CapableOf"), phrase("HasFirstSubevent"), phrase("BornInTown")
    ('is capable of', 'begins with', 'born in town')
    """
    return PHRASES.get(type_) or re.sub(r"(?<=.)(?=[A-Z])", " ", type_).lower()


def heading(name: str, type_: str, is_outward: bool) -> str:
    """
    >>> heading("dog", "CapableOf", True), heading("dog", "IsA", False)
    ('dog is capable of …', '… is a kind of dog')
    """
    return f"{name} {phrase(type_)} …" if is_outward else f"… {phrase(type_)} {name}"


def sentence(start: str, type_: str, end: str) -> str:
    """
    >>> sentence("dog", "CapableOf", "bark")
    'dog is capable of bark'
    """
    return f"{start} {phrase(type_)} {end}"


def called(owner: str) -> str:
    """A relation in words, a concept by its name; what is neither as it is.

    >>> called("/a/[/r/IsA/,/c/en/dog/,/c/en/pet/]"), called("/c/en/dog"), called("/a/[")
    ('dog is a kind of pet', 'dog', '/a/[')
    """
    try:
        if owner.startswith("/a/"):
            type_, start, end = uri.parse_assertion(owner)
            return sentence(uri.label(start), uri.label(type_), uri.label(end))
        return (uri.label(owner) if owner.startswith("/c/") else "") or owner
    except ValueError:
        return owner


def sense_of(concept: str) -> str:
    """What tells a concept from others of its name; English is not named.

    >>> sense_of("/c/de/hund/n"), sense_of("/c/en/dog")
    ('de, n', '')
    """
    language, sense = uri.language(concept), uri.sense(concept)
    words = [] if language in ("en", None) else [str(language)]
    return ", ".join([*words, *(sense.split("/") if sense else ())])


IN_TEMPLATES = {"called": called, "phrase": phrase, "sections": SECTIONS, "sense_of": sense_of}
"""What the templates of concepts call."""
