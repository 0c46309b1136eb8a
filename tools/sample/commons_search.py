"""The search language of Wikimedia Commons, as far as it is about files.

>>> search = Search.of('guide dog filetype:bitmap -filemime:image/gif filesize:<3072')
>>> search.words
'guide dog'
>>> search.takes_type("BITMAP", "image/png"), search.takes_type("BITMAP", "image/gif")
(True, False)
>>> search.takes_measures({"filesize": 3000}), search.takes_measures({"filesize": 4000})
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

TYPE_KEYWORDS = frozenset({"filetype", "filemime"})
MEASURES = frozenset({"filesize", "filew", "fileh", "fileres", "filebits"})
TITLE_KEYWORDS = frozenset({"intitle", "incategory"})

_PIECE = re.compile(r'(-?)(?:(\w+):)?("[^"]*"|[^\s"]+)')


class Condition(NamedTuple):
    keyword: str
    value: str
    is_negated: bool


class Search(NamedTuple):
    words: str
    conditions: tuple[Condition, ...]

    @classmethod
    def of(cls, text: str) -> Search:
        words, conditions = [], []
        for minus, keyword, quoted in _PIECE.findall(text):
            value = quoted.strip('"')
            if keyword in TYPE_KEYWORDS | MEASURES | TITLE_KEYWORDS:
                conditions.append(Condition(keyword, value, bool(minus)))
            elif minus:
                conditions.append(Condition("intitle", value, True))
            else:
                words.append(f"{keyword}:{value}" if keyword else value)
        return cls(" ".join(words), tuple(conditions))

    def takes_type(self, media_type: str, mime: str) -> bool:
        return self._holds("filetype", lambda value: media_type.lower() in _options(value)) and (
            self._holds("filemime", lambda value: _tokens(value) <= _tokens(mime))
        )

    def takes_title(self, title: str, categories: str) -> bool:
        return self._holds("intitle", lambda value: _tokens(value) <= _tokens(title)) and (
            self._holds("incategory", lambda value: value.lower() == categories.lower())
        )

    @property
    def has_measures(self) -> bool:
        return any(condition.keyword in MEASURES for condition in self.conditions)

    def takes_measures(self, measures: Mapping[str, float]) -> bool:
        """Sizes are in KiB, a resolution is the root of width times height."""
        return all(
            _within(condition.value, measures.get(condition.keyword, 0)) != condition.is_negated
            for condition in self.conditions
            if condition.keyword in MEASURES
        )

    def _holds(self, keyword: str, is_met: Callable[[str], bool]) -> bool:
        return all(
            is_met(condition.value) != condition.is_negated
            for condition in self.conditions
            if condition.keyword == keyword
        )


def _options(value: str) -> set[str]:
    return set(value.lower().split("|"))


def _tokens(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _within(limits: str, measure: float) -> bool:
    """
    >>> [_within(limits, 300) for limits in (">300", "<299", "100,400", "300", "much")]
    [True, False, True, True, False]
    """
    try:
        if limits.startswith(">"):
            return measure >= float(limits[1:])
        if limits.startswith("<"):
            return measure <= float(limits[1:])
        low, _, high = limits.partition(",")
        return float(low) <= measure <= float(high or low)
    except ValueError:
        return False
