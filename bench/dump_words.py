"""Made-up words of a hundred languages, as thick in the dictionary as those of ConceptNet's dump.

A language has lemmas, the most popular first, and for many of them a long list of inflected forms:
those make most of the real dump, and most of why it packs so well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Chance = np.random.Generator

POPULAR_WORDS = (
    "dog cat person house water tree book food car school music city time work bird horse fish "
    "table chair door window hand eye head heart child friend family animal plant flower river "
    "mountain sea sun moon star night day year money game word story letter paper stone fire air "
    "earth metal wood bread milk apple garden kitchen road bridge boat train street church doctor"
)
POPULAR = POPULAR_WORDS.split()
CODES = (
    "af an ang ar arc ast az be bg br ca ceb cs cy da el en enm eo et eu fa fil fo frm fro ga gd "
    "gl got grc gv haw he hi hsb hu hy ia id io is ka kk km ko ku ky lb li ln lt lv mg mi mk mn mr "
    "ms mt nap nl no non nrf nv oc pl ro rup sa sco se sh sk sl sq sv sw ta te th tr uk ur uz vi vo"
)
SHARES: Mapping[str, float] = dict.fromkeys(CODES.split(), 0.004) | {
    "fr": 0.20, "la": 0.12, "de": 0.09, "it": 0.08, "es": 0.08, "ru": 0.06, "ja": 0.05,
    "zh": 0.03, "pt": 0.04, "fi": 0.04, "sv": 0.02, "pl": 0.02, "nl": 0.02, "sh": 0.02,
    "cs": 0.01, "el": 0.01, "hu": 0.01, "ar": 0.01, "bg": 0.01, "sl": 0.01,
}  # fmt: skip
ENGLISH = "en"
OTHERS = tuple(code for code in sorted(SHARES) if code != ENGLISH)
LETTERS: Mapping[str, tuple[str, str]] = {
    "ru uk be bg mk kk ky mn": ("бвгджзклмнпрстфхцчшщ", "аеиоуыюя"),
    "el grc": ("βγδζθκλμνξπρστφχψ", "αειουωάέήίό"),
    "ar fa ur arc": ("بتثجحخدذرزسشصضطظعغفقكلمنه", "اوي"),
    "he": ("בגדהוזחטכלמנסעפצקרשת", "איו"),
    "hi mr sa": ("कखगघचछजझटडतथदधनपफबभमयरलवशसह", "ािीुूेो"),
    "ka": ("ბგდვზთკლმნპჟრსტფქღყშჩცძწჭხჯჰ", "აეიოუ"),
    "hy": ("բգդզթժլխծկհձղճմյնշչպջռսվտրցփքֆ", "աեէըիոօ"),
    "th km": ("กขคงจชซดตถทนบปผพฟมยรลวสหอ", "ะาิีุู"),
    "ta te": ("கஙசஞடணதநபமயரலவழளறன", "ாிீுூெே"),
    "ko": ("가나다라마바사아자차카타파하", "각난달람맛방슬일정청컬통편해"),
    "ja": ("日月火水木金土山川田人口手目耳車学校本気", "くすつぬむるきしちにみりけせてねめれいう"),
    "zh": ("一大中小上下不人天地水火山石田土木日月心", "學生文字書家國民電話車機器物品味道路門口"),
    "fr oc nrf frm fro": ("bcdfghjlmnpqrstv", "aeiouéèê"),
    "de lb nl li af": ("bdfghklmnprstwz", "aeiouäöü"),
    "cs sk sl sh pl lt lv hsb": ("bcčdhklmnprřsštvzž", "aeiouáéí"),
    "sv da no is fo non se": ("bdfghjklmnprstv", "aeiouyåäöø"),
    "tr az uz hu fi et": ("bcçdghklmnprsştvyz", "aeioöuü"),
}
LATIN = ("bcdfglmnprstv", "aeiou")
ENDINGS = ("s", "n", "t", "m", "r", "l", "ns", "nt", "st", "rs", "rt", "ls")
SENSES = ("/n", "/v", "/a", "/r", "/n/wn/animal", "/n/wn/artifact", "/n/wikt/en_1", "/v/wikt/en_2")
SENSE_SHARES = (0.60, 0.20, 0.145, 0.03, 0.01, 0.005, 0.005, 0.005)


@dataclass(frozen=True, slots=True)
class Tongue:
    """One language: URIs of its lemmas, with and without a sense, and pairs of form and lemma."""

    lemmas: Sequence[str]
    sensed: Sequence[str]
    forms: Sequence[str]
    lemma_of_form: Ids


def tongue(code: str, lemmas: int, forms: int, chance: Chance) -> Tongue:
    stems = words(code, lemmas, chance)
    known = POPULAR if code == ENGLISH else []
    stems = [*known, *phrases(stems[len(known) :], chance)]
    uris = [f"/c/{code}/{stem}" for stem in stems]
    picked = chance.choice(len(SENSES), lemmas, p=SENSE_SHARES)
    picked[: len(known)] = 0
    sensed = [uri + SENSES[sense] for uri, sense in zip(uris, picked.tolist(), strict=True)]
    inflected, lemma_of_form = inflections(code, uris, forms)
    return Tongue(uris, sensed, inflected, lemma_of_form)


def words(code: str, count: int, chance: Chance) -> list[str]:
    """Distinct words of three or four syllables that begin in few ways, as neighbours in a
    dictionary do."""
    syllables = ["".join(pair) for pair in product(*letters(code))]
    base, size = len(syllables), max(2 * count, len(syllables) ** 2 * 16)
    numbers = chance.permutation(size)[:count]
    first, second, rest = numbers % base, numbers // base % base, numbers // base**2
    tails = [
        syllables[number % base] + (syllables[number // base % base] if number >= base else "")
        for number in range(size // base**2 + 1)
    ]
    parts = zip(first.tolist(), second.tolist(), rest.tolist(), strict=True)
    return [syllables[one] + syllables[two] + tails[three] for one, two, three in parts]


def letters(code: str) -> tuple[str, str]:
    return next((pair for codes, pair in LETTERS.items() if code in codes.split()), LATIN)


def phrases(stems: Sequence[str], chance: Chance) -> list[str]:
    """Every third is an expression: an unpopular word after a popular one."""
    before = (len(stems) * chance.random(len(stems)) ** 3).astype(int).tolist()
    return [
        f"{stems[other]}_{stem}" if number % 3 == 2 else stem
        for number, (stem, other) in enumerate(zip(stems, before, strict=True))
    ]


def inflections(code: str, uris: Sequence[str], count: int) -> tuple[list[str], Ids]:
    """As many endings for each as it takes; verbs of a Romance language have fifty and more."""
    vowels = letters(code)[1]
    endings = [*ENDINGS, *(vowel + ending for vowel in vowels for ending in ENDINGS)]
    each = min(len(endings), 24)
    inflected = [
        f"{uri}{ending}/v"
        for uri in uris[: -(-count // each)]
        for ending in endings[:: max(1, len(endings) // each)][:each]
    ]
    return inflected[:count], np.arange(min(count, len(inflected)), dtype=np.int64) // each
