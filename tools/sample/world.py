"""The built-in sample: everyday knowledge around pets and home, as a dump of assertions.

Promise: `lines()` gives the same lines on every call, each with the five tab-separated columns of
the ConceptNet assertions dump and no line end; no assertion comes twice. First comes world.tsv,
written by hand and sorted; then a hub, spelled by rule: 1,200 foreign number words that crowd the
30 English ones off the first thousand rows of the page of /c/en/number.

>>> _german(347), _spanish(22), _french(71)
('dreihundertsiebenundvierzig', 'veintidós', 'soixante_et_onze')
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from .. import uri

WORLD = Path(__file__).with_name("world.tsv")
SEED = "/c/en/pet"


def _words(text: str) -> list[str]:
    return text.split()


_DE = _words(
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn"
)
_DE_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_ES = _words(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro "
    "veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_ES_TENS = _words("treinta cuarenta cincuenta sesenta setenta ochenta noventa")
_ES_HUNDREDS = _words("ciento doscientos trescientos cuatrocientos")
_FR = _words(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix_sept dix_huit dix_neuf"
)
_FR_TENS = _words("vingt trente quarante cinquante soixante soixante quatre_vingt quatre_vingt")
_EN = _words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty twenty_one twenty_two twenty_three twenty_four "
    "twenty_five twenty_six twenty_seven twenty_eight twenty_nine thirty"
)
NUMBERS = tuple(word.replace("_", " ") for word in _EN)
"""Those with a name of their own in English, from one."""


def _german(number: int) -> str:
    """
    >>> [_german(n) for n in (1, 21, 30, 101, 400)]
    ['eins', 'einundzwanzig', 'dreißig', 'hunderteins', 'vierhundert']
    """
    hundreds, rest = divmod(number, 100)
    head = "" if hundreds == 0 else "hundert" if hundreds == 1 else f"{_DE[hundreds]}hundert"
    tens, unit = divmod(rest, 10)
    if rest == 0:
        return head
    if rest < 20:
        return head + ("eins" if rest == 1 else _DE[rest])
    return head + (f"{_DE[unit]}und" if unit else "") + _DE_TENS[tens - 2]


def _spanish(number: int) -> str:
    """
    >>> [_spanish(n) for n in (31, 100, 101, 226)]
    ['treinta_y_uno', 'cien', 'ciento_uno', 'doscientos_veintiséis']
    """
    hundreds, rest = divmod(number, 100)
    if number == 100:
        return "cien"
    if hundreds:
        head = _ES_HUNDREDS[hundreds - 1]
        return f"{head}_{_spanish(rest)}" if rest else head
    if rest < 30:
        return _ES[rest]
    tens, unit = divmod(rest, 10)
    return _ES_TENS[tens - 3] + (f"_y_{_ES[unit]}" if unit else "")


def _french(number: int) -> str:
    """
    >>> [_french(n) for n in (21, 80, 81, 91)]
    ['vingt_et_un', 'quatre_vingts', 'quatre_vingt_un', 'quatre_vingt_onze']
    >>> [_french(n) for n in (100, 200, 201, 380)]
    ['cent', 'deux_cents', 'deux_cent_un', 'trois_cent_quatre_vingts']
    """
    hundreds, rest = divmod(number, 100)
    if hundreds == 0:
        return _french_below_100(rest)
    head = "cent" if hundreds == 1 else f"{_FR[hundreds]}_cent"
    if rest == 0:
        return head if hundreds == 1 else f"{head}s"
    return f"{head}_{_french_below_100(rest)}"


def _french_below_100(number: int) -> str:
    if number < 20:
        return _FR[number]
    tens, unit = divmod(number, 10)
    # 70 and 90 have no word of their own: French counts on from 60 and 80.
    if tens in (7, 9):
        unit += 10
    word = _FR_TENS[tens - 2]
    if unit == 0:
        return "quatre_vingts" if tens == 8 else word
    return f"{word}_et_{_FR[unit]}" if unit in (1, 11) and tens < 8 else f"{word}_{_FR[unit]}"


def _line(rel: str, start: str, weight: float) -> str:
    info = {
        "dataset": "/d/sheaf/sample",
        "license": "cc:by/4.0",
        "sources": [{"contributor": "/s/resource/sheaf/sample", "process": "/s/process/sheaf/hub"}],
        "weight": weight,
    }
    end = "/c/en/number"
    text = json.dumps(info, sort_keys=True, ensure_ascii=False)
    return "\t".join((uri.assertion(rel, start, end), rel, start, end, text))


def _hub() -> Iterator[str]:
    for language, spell in (("de", _german), ("es", _spanish), ("fr", _french)):
        for number in range(1, 401):
            yield _line("/r/RelatedTo", f"/c/{language}/{spell(number)}", 2.0)
    for word in _EN:
        yield _line("/r/IsA", f"/c/en/{word}", 1.0)


def lines() -> Iterator[str]:
    """Every line of world.tsv, then the hub."""
    with WORLD.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")
    yield from _hub()
