"""Who is related to whom in a made-up dump: pairs of concepts in the proportions of the real one.

Some are popular and nothing means anything. Between English concepts, what a harvest asks for has
its published counts; of the rest only the sum is known, and of other languages nothing, so those
shares are only likely ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.dump_words import ENGLISH, OTHERS, SHARES, Chance, Ids, Tongue, tongue

REAL_LINES = 34_074_917
COMMON: Mapping[str, int] = {
    "IsA": 230_137, "HasContext": 232_935, "UsedFor": 39_790, "SimilarTo": 30_280,
    "AtLocation": 27_797, "HasSubevent": 25_238, "HasPrerequisite": 22_710, "CapableOf": 22_677,
    "Causes": 16_801, "PartOf": 13_077, "MannerOf": 12_715, "MotivatedByGoal": 9_489,
    "HasProperty": 8_433, "ReceivesAction": 6_037, "HasA": 5_545, "CausesDesire": 4_688,
    "HasFirstSubevent": 3_347, "DistinctFrom": 3_315, "Desires": 3_170, "HasLastSubevent": 2_874,
    "DefinedAs": 2_173, "MadeOf": 545, "CreatedBy": 263, "LocatedNear": 49, "SymbolOf": 4,
}  # fmt: skip
"""English to English, of those a harvest asks for."""
ENGLISH_REST: Mapping[str, int] = {
    "RelatedTo": 1_703_000, "FormOf": 379_000, "DerivedFrom": 325_000, "Synonym": 222_000,
    "EtymologicallyRelatedTo": 32_000, "Antonym": 19_000, "NotDesires": 2_900,
    "InstanceOf": 1_500, "Entails": 400, "dbpedia/genre": 7_000, "dbpedia/field": 7_000,
}  # fmt: skip
"""All other English to English; only their sum is known."""
FOREIGN: Mapping[tuple[str, str], float] = {
    ("FormOf", "same"): 0.45, ("RelatedTo", "same"): 0.08, ("Synonym", "same"): 0.05,
    ("DerivedFrom", "same"): 0.03, ("HasContext", "same"): 0.03, ("Antonym", "same"): 0.003,
    ("Synonym", "to English"): 0.09, ("Synonym", "from English"): 0.02,
    ("Synonym", "other"): 0.02, ("EtymologicallyRelatedTo", "other"): 0.01,
}  # fmt: skip
"""Shares of all lines; RelatedTo English takes what is left."""
URL_SHARE = 0.028
COMMON_REACH = 0.3  # of the vocabulary: so few that nearly all of them hang together


@dataclass(frozen=True, slots=True)
class Kind:
    """So many assertions of one relation between languages of one kind."""

    relation: str
    between: str
    count: int


class Lexicon:
    """Every concept by number; the numbers are in the order of the lines that begin with them."""

    def __init__(self, lines: int, chance: Chance) -> None:
        self.uris: list[str] = []
        self.lemmas: list[Ids] = []
        self.sensed: list[Ids] = []
        self.forms: list[Ids] = []
        self.form_lemmas: list[Ids] = []
        for code in sorted(SHARES):
            self._add(_tongue(code, lines, chance))
        self.first = np.array([ids.min() for ids in self.lemmas])
        self.english = sorted(SHARES).index(ENGLISH)
        shares = np.array([SHARES[code] * (code != ENGLISH) for code in sorted(SHARES)])
        self.foreign = shares / shares.sum()

    def _add(self, tongue: Tongue) -> None:
        here = sorted({*tongue.lemmas, *tongue.sensed, *tongue.forms})
        number = dict(zip(here, range(len(self.uris), len(self.uris) + len(here)), strict=True))
        self.uris += here
        self.lemmas.append(_numbers(number, tongue.lemmas))
        self.sensed.append(_numbers(number, tongue.sensed))
        self.forms.append(_numbers(number, tongue.forms))
        self.form_lemmas.append(self.lemmas[-1][tongue.lemma_of_form])

    def languages(self, ids: Ids) -> Ids:
        return np.searchsorted(self.first, ids, "right") - 1


def _tongue(code: str, lines: int, chance: Chance) -> Tongue:
    if code == ENGLISH:
        lemmas, forms = lines * 0.04, lines * ENGLISH_REST["FormOf"] / REAL_LINES
    else:
        share = SHARES[code] / sum(SHARES[other] for other in OTHERS)
        lemmas, forms = lines * share * 0.12, lines * share * FOREIGN["FormOf", "same"]
    return tongue(code, max(round(lemmas), 70), round(forms) + 24, chance)


def _numbers(number: Mapping[str, int], uris: Sequence[str]) -> Ids:
    return np.array([number[uri] for uri in uris], dtype=np.int64)


# --- who is related to whom ------------------------------------------------------------------


def kinds(lines: int) -> list[Kind]:
    """In the order of the dump, all together as many as lines without those of addresses."""
    scaled = lines / REAL_LINES
    english = [(name, "English", n * scaled) for name, n in {**COMMON, **ENGLISH_REST}.items()]
    foreign = [(name, between, share * lines) for (name, between), share in FOREIGN.items()]
    result = [Kind(name, between, round(count)) for name, between, count in english + foreign]
    left = lines - sum(kind.count for kind in result) - addresses(lines)
    return [*result, Kind("RelatedTo", "to English", left)]


def addresses(lines: int) -> int:
    return round(lines * URL_SHARE)


def pairs(kind: Kind, lexicon: Lexicon, chance: Chance) -> Ids:
    """Distinct pairs of start and end, each as one number: start * concepts + end."""
    concepts = len(lexicon.uris)
    if kind.relation == "FormOf":
        return _inflections(kind, lexicon)
    found = np.empty(0, dtype=np.int64)
    while len(found) < kind.count:
        starts, ends = draw(kind, (kind.count - len(found)) * 5 // 4 + 50, lexicon, chance)
        is_sound = (starts != ends) & _is_between(kind.between, starts, ends, lexicon)
        found = np.unique(np.concatenate([found, starts[is_sound] * concepts + ends[is_sound]]))
    return found[np.sort(chance.permutation(len(found))[: kind.count])]


def _inflections(kind: Kind, lexicon: Lexicon) -> Ids:
    here = [lexicon.english] if kind.between == "English" else np.nonzero(lexicon.foreign)[0]
    starts = np.concatenate([lexicon.forms[language] for language in here])
    ends = np.concatenate([lexicon.form_lemmas[language] for language in here])
    together: Ids = np.unique(starts * len(lexicon.uris) + ends)
    if len(together) < kind.count:
        raise RuntimeError("there are too few inflected forms; choose another number of lines")
    return together[np.linspace(0, len(together) - 1, kind.count).astype(np.int64)]


def draw(kind: Kind, count: int, lexicon: Lexicon, chance: Chance) -> tuple[Ids, Ids]:
    """A start is anybody, an end is somebody popular."""
    english = np.full(count, lexicon.english)
    one, other = (chance.choice(len(lexicon.foreign), count, p=lexicon.foreign) for _ in "ab")
    start, end = {
        "English": (english, english),
        "same": (one, one),
        "other": (one, other),
        "to English": (one, english),
        "from English": (english, one),
    }[kind.between]
    reach, sensed = (COMMON_REACH, 0.3) if kind.relation in COMMON else (1.0, 0.65)
    starts = _popular(lexicon, start, reach, 1.5, sensed, chance)
    return starts, _popular(lexicon, end, reach, 3.0, sensed / 3, chance)


def _popular(
    lexicon: Lexicon, languages: Ids, reach: float, skew: float, sensed: float, chance: Chance
) -> Ids:
    sizes = np.array([len(ids) for ids in lexicon.lemmas])
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = (sizes[languages] * reach * chance.random(len(languages)) ** skew).astype(np.int64)
    place = offsets[languages] + rank
    has_sense = chance.random(len(languages)) < sensed
    plain, senses = np.concatenate(lexicon.lemmas), np.concatenate(lexicon.sensed)
    result: Ids = np.where(has_sense, senses[place], plain[place])
    return result


def _is_between(between: str, starts: Ids, ends: Ids, lexicon: Lexicon) -> Ids:
    is_other: Ids = lexicon.languages(starts) != lexicon.languages(ends)
    return is_other if between == "other" else np.ones_like(is_other)
