"""The `option` of a column, such as `NOT NULL DEFAULT 0`: parsed word by word, never handed on.

Promise: whatever is not one of the known words with its literal is refused, so that nothing of it
can become part of a statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base.text import clipped
from ..tables.declared import Option

LONGEST = 80  # characters of it in a message
_TOKEN = re.compile(
    r"""\s*(?:(?P<word>[A-Za-z_]+)
    |(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<text>'(?:[^'\\]|''|\\.)*+'|"(?:[^"\\]|""|\\.)*+")
    |(?P<other>\S))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)|(['\"])\2", re.DOTALL)
_SPOKEN = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}


class ParsedOption(NamedTuple):
    option: Option
    is_key: bool


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


def parsed_option(text: str) -> ParsedOption:
    """Raises ValueError with what follows the place: `'...' is not understood at ';'`."""
    said = _Said(text)
    may_be_null = "NULL" in said.words or (said.has_default and said.default is None)
    if may_be_null and said.words & {"NOT NULL", "PRIMARY KEY"}:
        shown = clipped(text, LONGEST)
        raise ValueError(f"{shown!r} says both that it may be NULL and that it may not")
    option = Option(
        is_required="NOT NULL" in said.words or "PRIMARY KEY" in said.words,
        is_unique="UNIQUE" in said.words,
        default=said.default,
        has_default=said.has_default,
        is_counted="AUTO_INCREMENT" in said.words,
        is_unsigned="UNSIGNED" in said.words,
        comment=said.comment,
    )
    return ParsedOption(option, "PRIMARY KEY" in said.words)


class _Said:
    """The words of an option, in any order."""

    def __init__(self, text: str) -> None:
        self.words: set[str] = set()
        self.default: Any = None
        self.has_default = False
        self.comment = ""
        self._text = text
        self._tokens = _tokens(text)
        readers: dict[str, Callable[[], None]] = {
            "DEFAULT": self._default,
            "COMMENT": self._comment,
        }
        for token in self._tokens:
            if reader := readers.get(token.word):
                reader()
            else:
                self._plain(token)

    def _plain(self, token: _Token) -> None:
        pairs = {"NOT": "NULL", "PRIMARY": "KEY"}
        word = token.word
        if second := pairs.get(word):
            following = self._next()
            if following.word != second:
                raise self._not_understood(following)
            word = f"{word} {second}"
        elif word not in ("NULL", "UNIQUE", "AUTO_INCREMENT", "UNSIGNED"):
            raise self._not_understood(token)
        self.words.add(word)

    def _default(self) -> None:
        token = self._next()
        if token.word in _CONSTANTS:
            self.default = _CONSTANTS[token.word]
        elif token.kind in ("number", "text"):
            self.default = _literal(token.text)
        else:
            raise self._not_understood(token)
        self.has_default = True

    def _comment(self) -> None:
        token = self._next()
        if token.kind != "text":
            raise self._not_understood(token)
        self.comment = _literal(token.text)

    def _next(self) -> _Token:
        return next(self._tokens, _Token("end", ""))

    def _not_understood(self, token: _Token) -> ValueError:
        where = f"at {clipped(token.text, 40)!r}" if token.text else "at its end"
        return ValueError(f"{clipped(self._text, LONGEST)!r} is not understood {where}")


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text.strip()):
        kind = found.lastgroup or ""
        yield _Token(kind, found[kind])


def _literal(text: str) -> str:
    """What a text in quotes means; a number stays as it is written."""
    if text[0] not in "'\"":
        return text
    return _ESCAPED.sub(
        lambda each: _SPOKEN.get(each[1], each[1]) if each[1] else each[2], text[1:-1]
    )
