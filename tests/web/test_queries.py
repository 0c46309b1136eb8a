"""The queries to copy are those of the documents."""

from __future__ import annotations

import pytest

from tests.support.examples import examples
from tools.web.data.queries import queries

BARK = "/c/en/bark/v"
NAMES = {  # in the documents, by the remark above a query
    "A concept by its name; its senses share the name, so there may be several": ("bark", ""),
    "What ends at a name, of one type": ("cat", ""),
    "What there is between two names, in either direction": ("house", "kitchen"),
    "All paths of up to 3 relations between two names, the longest first": ("flea", "wolf"),
    "A shortest path of up to 10 relations that avoids some types": ("dog", "thunder"),
    "Everything that begins or ends at a name": ("kitchen", ""),
    "The media of a relation, with licence and author": ("dog", "bark"),
}


@pytest.mark.parametrize("language", ["cypher", "sql"])
def test_what_is_documented_can_be_copied(language: str) -> None:
    documented = examples(language)
    assert NAMES.keys() <= documented.keys()
    for title, example in documented.items():
        made = {each.title: each for each in queries(BARK, *NAMES.get(title, ("dog", "")))}
        text = getattr(made[title], language)
        assert _words(text) == _words(example.query), title


def test_nothing_else_claims_to_be_documented() -> None:
    held = [each.title for each in queries(BARK, "bark", "dog")][4:]
    assert held and {*held} == {*examples("cypher")} | {*examples("sql")}


def _words(query: str) -> list[str]:
    return query.rstrip(";").split()
