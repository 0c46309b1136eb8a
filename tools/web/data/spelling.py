"""What somebody may have meant to type: every spelling that one slip leads to. Pure functions.

Limit: of scripts with thousands of characters only those that were typed are moved or left out.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_KEY = 30  # of these there are some two thousand spellings
BETWEEN_WORDS = " -"
# As names are folded: without accents and capitals.
ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyzæøł",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "абвгдежзиклмнопрстуфхцчшщъыьэюяіјљњћђџ",
    "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "ءابةتثجحخدذرزسشصضطظعغفقكلمنهويىپچژکگی",
)
SOUNDS = (("f", "ph"), ("ph", "f"))


def exchanged(key: str) -> set[str]:
    """Its letters are right, two of them stand in each other's place; or it is written as it
    sounds.

    >>> sorted(exchanged("dgo")), "bicycle" in exchanged("bycicle")
    (['dog', 'gdo', 'ogd'], True)
    >>> "elephant" in exchanged("elefant")
    True
    """
    found = {
        f"{key[:at]}{key[at + gap]}{key[at + 1 : at + gap]}{key[at]}{key[at + gap + 1 :]}"
        for gap in (1, 2)
        for at in range(len(key) - gap)
    }
    for sound, other in SOUNDS:
        parts = key.split(sound)
        heads = range(1, len(parts))
        found |= {sound.join(parts[:at]) + other + sound.join(parts[at:]) for at in heads}
    return found - {key}


def mistyped(key: str) -> set[str]:
    """One letter is missing, another one, or too many.

    >>> found = mistyped("huse")
    >>> "house" in found, "hose" in found, "use" in found, "huse" in found
    (True, True, True, False)
    """
    letters = _letters_of(key)
    found = {key[:at] + key[at + 1 :] for at in range(len(key))}
    for at in range(len(key) + 1):
        found |= {f"{key[:at]}{each}{key[at:]}" for each in letters}
        found |= {f"{key[:at]}{each}{key[at + 1 :]}" for each in letters}
    return found - {key}


def _letters_of(key: str) -> Iterable[str]:
    """Of the scripts it is in."""
    used = {*key}
    return BETWEEN_WORDS + "".join(each for each in ALPHABETS if not used.isdisjoint(each))
