"""What is kept, what is shown, what is searched for."""

from __future__ import annotations

import math

import pytest

from tools.conceptnet.rules import (
    ALL_RELATIONS,
    CONNECTIVES,
    RELATIONS,
    Filter,
    concept_search_text,
    is_showable,
    relation_name,
    relation_search_text,
)

KEPT = [
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
]

NOT_SHOWN = [
    "IsA",
    "MannerOf",
    "HasSubevent",
    "HasFirstSubevent",
    "HasLastSubevent",
    "HasPrerequisite",
    "MotivatedByGoal",
    "ObstructedBy",
    "Desires",
    "DistinctFrom",
    "SymbolOf",
    "DefinedAs",
    "HasContext",
    "SimilarTo",
    "CausesDesire",
]

SEARCHES = {
    "PartOf": "dog bark",
    "HasProperty": "dog bark",
    "AtLocation": "dog bark",
    "Causes": "dog bark",
    "HasA": "dog has bark",
    "UsedFor": "dog used for bark",
    "CapableOf": "dog can bark",
    "MadeOf": "dog is made of bark",
    "ReceivesAction": "dog can be bark",
    "CreatedBy": "dog created by bark",
    "LocatedNear": "dog near bark",
}

HOSTILE = ["", "/", "/c", "/c/", "/c/en", "/c/en/", "/c//dog", "/c/en/a\nb", "/c/en/a\x00b"]


def usual(senses: bool = True) -> Filter:
    return Filter.of(["en"], 1.0, RELATIONS, senses)


def keeps(
    relation: str = "IsA", start: str = "/c/en/dog", end: str = "/c/en/pet", weight: float = 1.0
) -> bool:
    return usual().keeps(relation, start, end, weight)


def test_the_relations_are_the_26_in_their_order() -> None:
    assert list(RELATIONS) == KEPT
    assert len(set(RELATIONS)) == 26


@pytest.mark.parametrize("relation", KEPT)
def test_wanted_relations_are_kept(relation: str) -> None:
    assert keeps(relation)


@pytest.mark.parametrize(
    "relation",
    [*sorted(set(ALL_RELATIONS) - set(RELATIONS)), "ExternalURL", "dbpedia/genre", "isa", ""],
)
def test_other_relations_are_not(relation: str) -> None:
    assert not keeps(relation)


@pytest.mark.parametrize(
    ("weight", "kept"),
    [
        (1.0, True),
        (1, True),
        (8.5, True),
        (0.999, False),
        (0.0, False),
        (-1.0, False),
        (math.nan, False),
    ],
)
def test_a_relation_must_be_heavy_enough(weight: float, kept: bool) -> None:
    assert keeps(weight=weight) is kept


@pytest.mark.parametrize("other", ["/c/de/hund", "/c/e/dog", "/c/english/dog", "/c/EN/dog"])
def test_both_ends_must_be_of_a_wanted_language(other: str) -> None:
    assert not keeps(start=other)
    assert not keeps(end=other)


def test_more_languages_may_be_wanted() -> None:
    both = Filter.of(["en", "de"], 1.0, RELATIONS, True)
    assert both.keeps("IsA", "/c/en/dog", "/c/de/hund", 1.0)
    assert not both.keeps("IsA", "/c/en/dog", "/c/fr/chien", 1.0)


@pytest.mark.parametrize("other", ["http://dbpedia.org/resource/Dog", "https://x.org/c/en/dog"])
def test_external_addresses_are_no_concepts(other: str) -> None:
    assert not keeps(end=other)
    assert not keeps(start=other)


@pytest.mark.parametrize("other", [*HOSTILE, "/c/en/..", "/c/en/dog/../cat", "/c/en/dog/,/x"])
def test_malformed_ends_are_not_kept(other: str) -> None:
    assert not keeps(start=other)
    assert not keeps(end=other)


@pytest.mark.parametrize(
    "concept", ["/c/en/dog/n/wn/animal", "/c/en/washington,_d.c", "/c/en/cat's_cradle", "/c/en/ö"]
)
def test_senses_commas_apostrophes_and_letters_are_kept(concept: str) -> None:
    assert keeps(start=concept)
    assert keeps(end=concept)


def test_a_page_may_leave_out_what_belongs_to_its_senses() -> None:
    of_the_term = ("/c/en/dog", "/c/en/dog", "/c/en/pet")
    to_the_term = ("/c/en/dog", "/c/en/puppy", "/c/en/dog")
    of_a_sense = ("/c/en/dog", "/c/en/dog/n", "/c/en/pet")
    assert [usual(senses=True).belongs_to(*x) for x in (of_the_term, to_the_term, of_a_sense)] == [
        True,
        True,
        True,
    ]
    assert [usual(senses=False).belongs_to(*x) for x in (of_the_term, to_the_term, of_a_sense)] == [
        True,
        True,
        False,
    ]


# ---- what is shown and searched for


def test_exactly_eleven_relations_are_shown() -> None:
    shown = {relation for relation in RELATIONS if is_showable(relation)}
    assert len(shown) == 11
    assert shown == set(CONNECTIVES) == set(RELATIONS) - set(NOT_SHOWN)


@pytest.mark.parametrize("relation", [*NOT_SHOWN, "NotDesires", "RelatedTo", "ExternalURL", ""])
def test_the_others_are_not(relation: str) -> None:
    assert not is_showable(relation)


@pytest.mark.parametrize(("relation", "text"), SEARCHES.items())
def test_what_a_relation_is_searched_by(relation: str, text: str) -> None:
    assert relation_search_text(relation, "/c/en/dog", "/c/en/bark") == text


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        ("/c/de/hund", "/c/de/bellen", "hund bellen"),
        ("/c/zh/桌子", "/c/zh/木头", "桌子 木头"),
        ("/c/en/dog", "/c/de/bellen", "dog bellen"),
        ("/c/de/hund/n", "/c/en/bark", "hund bark"),
        ("/c/en/dog/n", "/c/en/bark/v", "dog can bark"),
    ],
)
def test_english_words_stand_between_english_words_only(start: str, end: str, text: str) -> None:
    assert relation_search_text("CapableOf", start, end) == text


def test_every_connective_is_tested() -> None:
    assert set(SEARCHES) == set(CONNECTIVES)


@pytest.mark.parametrize(
    ("concept", "text"),
    [
        ("/c/en/dog", "dog"),
        ("/c/en/guide_dog", "guide dog"),
        ("/c/en/dog/n/wn/animal", "dog"),
        ("/c/en/washington,_d.c", "washington, d.c"),
        ("/c/en/cat's_cradle/n", "cat's cradle"),
        ("/c/de/groß_hund", "groß hund"),
    ],
)
def test_a_concept_is_searched_by_its_label(concept: str, text: str) -> None:
    assert concept_search_text(concept) == text
    has = "has " if concept.startswith("/c/en/") else ""
    assert relation_search_text("HasA", concept, concept) == f"{text} {has}{text}"


def test_a_relation_has_a_short_name() -> None:
    assert relation_name("/r/IsA") == relation_name("IsA") == "IsA"
    assert relation_name("/r/dbpedia/genre") == "dbpedia/genre"
