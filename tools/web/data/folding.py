"""Names as a search compares them: without case, accents and widths. Pure functions."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 300  # characters of a name or a question that are compared

# Scripts that write no spaces: every character is a word of its own, so that one in the middle of a
# name is found.
_ALONE = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
_ACCENT = re.compile("[\u0300-\u036f]")
_SPACE = re.compile(r"[\s_]+")
_WORD = re.compile(r"\w+")


def folded(text: str) -> str:
    """
    >>> folded("  Café au_lait "), folded("STRASSE"), folded("犬")
    ('cafe au lait', 'strasse', '犬')
    """
    open_ = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text[:LONGEST]).casefold())
    plain = unicodedata.normalize("NFC", _ACCENT.sub("", open_))
    return _SPACE.sub(" ", plain).strip()


def words(text: str) -> str:
    """
    >>> words("子犬 Park")
    '子 犬 park'
    """
    return _SPACE.sub(" ", _ALONE.sub(r" \1 ", folded(text))).strip()


def question(text: str) -> str:
    """As FTS5 reads it: every word in quotes, the last one the beginning of a word; nothing in it
    is an operator. Characters that stand together must stand together.

    >>> question('hot "do'), question("子犬"), question("NEAR(* ^)"), question("?!")
    ('"hot" "do" *', '"子 犬" *', '"near" *', '')
    """
    groups = [" ".join(_WORD.findall(words(each))) for each in folded(text).split(" ")]
    quoted = [f'"{each}"' for each in groups if each]
    return f"{' '.join(quoted)} *" if quoted else ""
