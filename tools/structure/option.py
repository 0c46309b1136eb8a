"""The `option` of a column, such as `NOT NULL DEFAULT 0`: parsed word by word, never handed on.

Promise: whatever is not one of the known words with its literal is refused, so that nothing of it
can become part of a statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base.text import clipped, storable
from ..tables.datatype import DataType
from ..tables.declared import Option
from ..tables.fitting import Misfit

LONGEST_COMMENT = 1024  # characters: MariaDB's
NUMBERS = ("integer", "bigint", "decimal", "double")
WHOLE = NUMBERS[:2]
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


class Parsed(NamedTuple):
    option: Option
    is_key: bool


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


def parsed_option(text: str, wanted: DataType) -> Parsed:
    """Raises ValueError with what follows the place: `'...' is not understood at ';'`."""
    said = _Said(text)
    option = Option(
        is_required="NOT NULL" in said.words or "PRIMARY KEY" in said.words,
        is_unique="UNIQUE" in said.words,
        default=_fitting_default(text, said.default, wanted),
        has_default=said.has_default,
        is_counted="AUTO_INCREMENT" in said.words,
        is_unsigned="UNSIGNED" in said.words,
        comment=said.comment,
    )
    _check(text, said, option, wanted)
    return Parsed(option, "PRIMARY KEY" in said.words)


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
        self.comment = storable(_literal(token.text))
        if len(self.comment) > LONGEST_COMMENT:
            raise ValueError(
                f"{clipped(self._text, 40)!r} has a comment of {len(self.comment):,} characters; "
                f"at most {LONGEST_COMMENT:,} are possible"
            )

    def _next(self) -> _Token:
        return next(self._tokens, _Token("end", ""))

    def _not_understood(self, token: _Token) -> ValueError:
        where = f"at {clipped(token.text, 40)!r}" if token.text else "at its end"
        return ValueError(f"{clipped(self._text, 80)!r} is not understood {where}")


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


def _fitting_default(text: str, default: Any, wanted: DataType) -> Any:
    try:
        return wanted.fitted(default)
    except Misfit as misfit:
        raise ValueError(f"{clipped(text, 80)!r}: its DEFAULT {misfit} ({wanted})") from None


def _check(text: str, said: _Said, option: Option, wanted: DataType) -> None:
    """What no database could keep."""
    shown = clipped(text, 80)
    if option.is_required and ("NULL" in said.words or (said.has_default and said.default is None)):
        raise ValueError(f"{shown!r} says both that it may be NULL and that it may not")
    if option.is_unsigned and wanted.kind not in NUMBERS:
        raise ValueError(f"{shown!r}: only numbers can be UNSIGNED, and this is {wanted}")
    if option.is_counted and wanted.kind not in WHOLE:
        raise ValueError(f"{shown!r}: only INT and BIGINT can be AUTO_INCREMENT, not {wanted}")
    if option.is_counted and not (option.is_unique or "PRIMARY KEY" in said.words):
        raise ValueError(f"{shown!r}: AUTO_INCREMENT needs PRIMARY KEY or UNIQUE beside it")
    if option.is_counted and option.has_default:
        raise ValueError(f"{shown!r}: AUTO_INCREMENT can have no DEFAULT")
