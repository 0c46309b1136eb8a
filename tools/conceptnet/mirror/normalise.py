"""A text as ConceptNet names it: pure functions from a language and a text to a concept's URI.

Promise: words are folded to lower case, joined by underscores, and kept as they are otherwise;
English loses its articles and a leading "to".
Limits: the original cuts words with wordfreq's tokeniser, which knows all of Unicode's rules; here
a run of one of the scripts without spaces (Chinese, Japanese, Thai and the like) is one word, and
neither Serbian nor Azerbaijani is brought from Cyrillic into Latin letters. Vowel points and wide
letters go as in ConceptNet 5.8; assertions of older versions may still have them.

>>> [concept("en", text)[6:] for text in ("the Dog", "to run", "cat's cradle", "ice-cream", "C++")]
['dog', 'run', "cat's_cradle", 'ice_cream', 'c']
>>> [concept("en", text)[6:] for text in ("U.S.A.", "rock & roll", "naïve café", "Dogs!", "#")]
['u.s.a', 'rock_roll', 'naïve_café', 'dogs', '']
>>> concept("hr", "Pas"), concept("nb", "hund"), concept("cmn", "狗"), concept("TL", "Aso")
('/c/sh/pas', '/c/no/hund', '/c/zh/狗', '/c/fil/aso')
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_ALIASES = {
    alias: language
    for language, aliases in {
        "ar": "arb arz ary",
        "et": "vro",
        "ff": "ffm",
        "fil": "tl",
        "ku": "ckb",
        "lt": "sgs",
        "mn": "mvf",
        "ms": "zsm id",
        "nds": "nds-de nds-nl",
        "no": "nb nn",
        "oj": "ciw",
        "sh": "bs hr sr hbs sr-latn sr-cyrl",
        "xwo": "xal",
        "zh": "cmn yue zh_tw zh_cn zh-tw zh-cn zh-hant zh-hans",
    }.items()
    for alias in aliases.split()
}

_ARTICLES = frozenset({"the", "a", "an"})
_WITHOUT_VOWELS = frozenset({"ar", "bal", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})
_OTHER_SCRIPTS = frozenset(  # than Latin, Greek and Cyrillic
    {
        *_WITHOUT_VOWELS,
        *("am", "bn", "bo", "dv", "gu", "hi", "hy", "ja", "ka", "km", "kn", "ko", "lo", "ml"),
        *("mr", "my", "ne", "or", "pa", "sa", "si", "ta", "te", "th", "ti", "xcl", "zh"),
    }
)
_DOTLESS_I = "\N{LATIN SMALL LETTER DOTLESS I}"
_DOTS = {
    code: str.maketrans({"\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}": "i", "I": _DOTLESS_I})
    for code in ("tr", "az")
}
_CEDILLAS, _COMMAS = "şţ", "șț"
_BELOW = {
    "tr": str.maketrans(_COMMAS, _CEDILLAS),
    "az": str.maketrans(_COMMAS, _CEDILLAS),
    "ro": str.maketrans(_CEDILLAS, _COMMAS),
}

_TATWEEL = "\u0640"
_NO_SPACES = (
    "\u3005-\u3007\u3021-\u3029\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U000323af"  # more of it
    "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u0e00-\u0eff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9fe"  # Thai, Lao, Burmese
    "\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"  # Khmer, Tai Le, Tai Lue, Lanna
)
_SPACELESS = re.compile(f"[{_NO_SPACES}]")
_VOWELS = frozenset("aáàâäeéèêëiíìîïoóòôöuúùûüh")  # as they follow an apostrophe in French
_JOINERS = {"'": "'", "\u2019": ":", ".": ".", ":": ":", "\u00b7": ":", ",": ",", ";": ","}
_CIRCUMFLEX = "\u0342"  # of Greek: part of its letter until that is folded
_ZERO_WIDTH_SPACE, _ZERO_WIDTH_JOINER = "\u200b", "\u200d"

# Of the shape of a text, in which v is a vowel or h, y is y, w another letter, d a digit, m a mark,
# s a character of a script without spaces, o a symbol such as an emoji and j what joins two of
# them. A typographic apostrophe is a colon: it joins letters, but never parts an article from its
# word.
_TOKEN = re.compile(
    r"""
    s[smj]* | o[mj]*(?:(?<=j)o[mj]*)*
    | [vwy]{1,2}'(?=v) | [vwy]'(?=y)  # l'air is two words, and so are y'all and d'you
    | [vwyd][vwydmj]*
      (?: (?: (?<=[vwy])['.:](?=[vwy]) | (?<=d)['.,](?=d) ) [vwyd][vwydmj]* )*
    """,
    re.VERBOSE,
)


def concept(language: str, text: str) -> str:
    """
    >>> concept("en", "To the Lighthouse"), concept("de", "Groß und Klein"), concept("en", "to")
    ('/c/en/lighthouse', '/c/de/gross_und_klein', '/c/en/to')
    """
    code = language.lower()
    code = _ALIASES.get(code, code)
    words = tokens(folded(code, text.replace("_", " ")))
    return f"/c/{code}/{'_'.join(without_articles(words) if code == 'en' else words)}"


def folded(language: str, text: str) -> str:
    """In the one way in which this language writes it, as far as case and Unicode go.

    >>> folded("en", "CAFÉ"), folded("ro", "Oraş"), folded("ar", "كَلِمَة")
    ('café', 'oraș', 'كلمة')
    """
    text = unicodedata.normalize("NFKC" if language in _OTHER_SCRIPTS else "NFC", text)
    if language in _WITHOUT_VOWELS:
        text = "".join(each for each in text if unicodedata.category(each) != "Mn")
        text = text.replace(_TATWEEL, "")
    text = text.translate(_DOTS.get(language, {}))
    return text.casefold().translate(_BELOW.get(language, {}))


def tokens(text: str) -> list[str]:
    """The words of a text that is folded. Apostrophes and dots inside a word belong to it.

    >>> tokens("d.c. isn't 3.14, y'all; l'air")
    ['d.c', "isn't", '3.14', 'y', 'all', 'l', 'air']
    """
    shape = "".join(map(_shape, text))
    return [text[slice(*found.span())].strip("'") for found in _TOKEN.finditer(shape)]


def without_articles(words: Sequence[str]) -> Sequence[str]:
    """
    >>> without_articles(["to", "the", "end"]), without_articles(["the"])
    (['end'], ['the'])
    """
    kept = [word for word in words if word not in _ARTICLES]
    while kept[:1] == ["to"]:
        del kept[0]
    return kept or words


def _shape(character: str) -> str:
    category = unicodedata.category(character)
    if character in (_ZERO_WIDTH_SPACE, _ZERO_WIDTH_JOINER):
        return " " if character == _ZERO_WIDTH_SPACE else "j"
    if character == _CIRCUMFLEX:
        return "w"
    if category[0] == "M" or category == "Cf":
        return "m"
    if _SPACELESS.match(character):
        return "s"
    if category[0] == "L" or category == "Nl":
        return "v" if character in _VOWELS else "y" if character == "y" else "w"
    if category in ("Nd", "So"):
        return "d" if category == "Nd" else "o"
    return _JOINERS.get(character, " ")
