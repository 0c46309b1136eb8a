"""What is sent to a provider: words that no search engine takes for orders, addresses, keys."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote_plus

from ..errors import UsageError

LONGEST = 200  # characters of words; no provider takes fewer, but for GIPHY
WITHIN_A_WORD = "'\u2019.,-"
ORDERS = frozenset({"AND", "OR", "NOT", "TO"})


def words(text: str, longest: int = LONGEST) -> str:
    """The text as words alone, without what search engines read as operators.

    >>> words('intitle:x -dog "guide dog"~2 d.c* filetype:audio NOT o\\'clock well-known')
    "intitle x dog guide dog 2 d.c filetype audio not o'clock well-known"
    >>> words("one two three", 9), words("!?"), words("x" * 300, 5)
    ('one two', '', 'xxxxx')
    """
    spaced = "".join(each if _is_of_a_word(each) else " " for each in text)
    stripped = (word.strip(WITHIN_A_WORD) for word in spaced.split())
    kept = " ".join(word.lower() if word in ORDERS else word for word in stripped if word)
    if len(kept) <= longest:
        return kept
    return kept[: longest + 1].rpartition(" ")[0] or kept[:longest]


def _is_of_a_word(character: str) -> bool:
    """Letters, the marks on them, digits, and what may stand between two of them."""
    return unicodedata.category(character)[0] in "LMN" or character in WITHIN_A_WORD


def address(base: str, parameters: Mapping[str, object] | Iterable[tuple[str, object]]) -> str:
    """
    >>> address("https://example.org/v1/", {"q": "guide dog & co", "page": 1})
    'https://example.org/v1/?q=guide+dog+%26+co&page=1'
    """
    pairs = parameters.items() if isinstance(parameters, Mapping) else parameters
    return f"{base}?{'&'.join(f'{_quoted(key)}={_quoted(str(value))}' for key, value in pairs)}"


_quoted = lru_cache(maxsize=512)(quote_plus)  # all but the words are the same in every question


def required_key(provider: str, key: str) -> str:
    if not key.strip():
        raise UsageError(
            f"{provider} needs a key: give it one, or take {provider} out of providers"
        )
    return usable_key(provider, key)


def usable_key(provider: str, key: str) -> str:
    """A key goes into headers and addresses; one that cannot would be quoted in an error there."""
    key = key.strip()
    if not all("!" <= each <= "~" for each in key):
        raise UsageError(f"the key of {provider} holds characters that no key has")
    return key
