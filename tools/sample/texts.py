"""What can be asked about the sample: the search texts of its concepts and showable relations.

>>> words_of("Groomer can cut dog's fur"), words_of('"washington,  d.c"')
('groomer can cut dogs fur', 'washington d c')
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from .. import uri
from ..conceptnet import rules

KINGDOMS = ("/c/en/animal", "/c/en/plant")

_SURE = 1.0  # below, the cartoon dog is a dog
_WORD = re.compile(r"[^\W_]+")


class Texts(NamedTuple):
    by_words: Mapping[str, str]  # however it is punctuated
    taxa: Sequence[str]  # the animals and plants among them, in order

    @classmethod
    def of(cls, lines: Iterable[str]) -> Texts:
        """Those of a dump's lines which a harvest in English can come to."""
        texts: set[str] = set()
        kinds_of: dict[str, set[str]] = defaultdict(set)
        for line in lines:
            _, rel, start, end, info = line.split("\t", 4)
            relation = rules.relation_name(rel)
            if not (start.startswith("/c/en/") and end.startswith("/c/en/")):
                continue
            if relation in rules.RELATIONS:
                texts |= {rules.concept_search_text(start), rules.concept_search_text(end)}
            if relation == "IsA" and orjson.loads(info)["weight"] >= _SURE:
                kinds_of[start].add(end)
            elif rules.is_showable(relation):
                texts.add(rules.relation_search_text(relation, start, end))
        return cls(_by_words(texts), _taxa(kinds_of))

    def find(self, asked: str) -> str | None:
        return self.by_words.get(words_of(asked))

    def all(self) -> list[str]:
        return sorted(set(self.by_words.values()))


def words_of(text: str) -> str:
    return " ".join(_WORD.findall(text.lower().replace("'", "")))


def _by_words(texts: Iterable[str]) -> dict[str, str]:
    """Some searchers cut a word at its apostrophe, some leave the apostrophe out."""
    spellings = {words_of(text.replace("'", " ")): text for text in texts if "'" in text}
    return spellings | {words_of(text): text for text in texts}


def _taxa(kinds_of: Mapping[str, Iterable[str]]) -> list[str]:
    """By sense, where there is one: a baseball bat is a bat, but not the animal."""
    members: dict[str, list[str]] = defaultdict(list)
    for member, kinds in kinds_of.items():
        for kind in kinds:
            members[kind].append(member)
    found, unseen = set(KINGDOMS), list(KINGDOMS)
    while unseen:
        new = set(members[unseen.pop()]) - found
        found |= new
        unseen += new
    return sorted({uri.label(each) for each in found})
