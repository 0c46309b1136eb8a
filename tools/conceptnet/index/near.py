"""How a concept that nobody knows may have been meant: names that differ in a letter or two.

Promise: the work is bounded, however long a name is. What differs only in case, spaces or hyphens
comes first, then names of one edit, then of two: a letter too many, too few, another, or two of
them swapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from string import ascii_lowercase

MOST_NAMES = 100_000  # that are tried
SHORTEST = 4  # of which two may be wrong; else everything is near
LONGEST = 60  # characters of a name that somebody may have mistyped

_CYRILLIC = ("bg", "mk", "ru", "sr", "uk")
_NOT_LATIN = (*_CYRILLIC, "el")
_LETTERS = {  # besides those of English
    **dict.fromkeys(_CYRILLIC, "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєђјљњћџ"),
    "el": "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώ",
    "cs": "áčďéěíňóřšťúůýž",
    "da": "æøå",
    "de": "äöüß",
    "es": "áéíñóúü",
    "fi": "äö",
    "fr": "àâçèéêëîïôùûœ",
    "hu": "áéíóöőúüű",
    "it": "àèéìòù",
    "nl": "éë",
    "no": "æøå",
    "pl": "ąćęłńóśźż",
    "pt": "áâãàçéêíóôõú",
    "ro": "ăâîșț",
    "sv": "åäö",
    "tr": "çğıöşü",
}


def near(concept: str) -> Iterator[list[str]]:
    """Names to try; each list is less likely than the one before."""
    _, _, language, text, *_ = [*concept.split("/"), "", "", ""]
    name = plain(text)
    if not name or len(name) > LONGEST:
        return
    letters = "".join(sorted({*_alphabet(language), *name, "_"}))
    once = list(edits(name, letters))
    again = once if len(name) >= SHORTEST else []
    twice = chain.from_iterable(edits(each, letters) for each in again)
    for names in ([name], once, islice(twice, MOST_NAMES)):
        found = {f"/c/{language.lower()}/{each}": None for each in names if each}
        yield [each for each in found if each != concept]


def plain(text: str) -> str:
    """As ConceptNet writes it.

    >>> plain(" Ice-Cream")
    'ice_cream'
    """
    return "_".join(text.replace("-", " ").replace("_", " ").casefold().split())


def edits(name: str, letters: str) -> Iterator[str]:
    """
    >>> list(edits("ab", "c"))
    ['ba', 'b', 'a', 'cb', 'ac', 'cab', 'acb', 'abc']
    """
    for at in range(len(name) - 1):
        yield name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    yield from (name[:at] + name[at + 1 :] for at in range(len(name)))
    yield from (name[:at] + each + name[at + 1 :] for at in range(len(name)) for each in letters)
    yield from (name[:at] + each + name[at:] for at in range(len(name) + 1) for each in letters)


def _alphabet(language: str) -> str:
    own = _LETTERS.get(language.lower(), "")
    return own if language.lower() in _NOT_LATIN else own + ascii_lowercase
