r"""Writes a graph as KGTK files: an edge file, and node files of concepts and of media.

URIs and paths are symbols, other texts are strings, names are strings of their language. What has a
meaning in KGTK's format stands behind a backslash; an absent value is an empty field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from ..add import KINDS, Graph
from ..graphs.copy import Part, Show, parts
from .tables import COLUMNS, Row, rows, text_files

HEADERS = {
    "nodes": ("id", "label", *COLUMNS["entities"][2:]),
    "edges": ("id", "node1", "label", "node2", *COLUMNS["relations"][4:]),
    "media": ("id", *COLUMNS["media"][1:]),
}
SYMBOLS = frozenset({"id", "node1", "node2", "term", "owner", *KINDS})
NOT_A_SYMBOL = frozenset("0123456789+-.\"'^@!#")
"""A value that begins so is a number, a string, a structured literal or a remark."""

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)?")
_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{code: f"\\u{code:04x}" for code in (0x2028, 0x2029)},
    **str.maketrans({"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\", "|": r"\|"}),
}
_QUOTES = str.maketrans({'"': r"\"", "'": r"\'"})


def write(graph: Graph, folder: Path, show: Show) -> None:
    with text_files(folder, [f"{name}.tsv" for name in HEADERS]) as files:
        for name, header in HEADERS.items():
            files[name].write("\t".join(header) + "\n")
        for part in parts(graph):
            _write_part(part, files)
            show(part.size)


def _write_part(part: Part, files: Mapping[str, TextIO]) -> None:
    found = rows(part)
    _write_lines(files["nodes"], HEADERS["nodes"], map(_node, found["entities"]))
    _write_lines(files["edges"], HEADERS["edges"], map(_edge, found["relations"]))
    _write_lines(files["media"], HEADERS["media"], found["media"])


class _Ready(str):
    """Written as it is."""


def _node(row: Row) -> Row:
    uri, name, language, *rest = row
    return (uri, _Ready(name_of(str(name), str(language))), language, *rest)


def _edge(row: Row) -> Row:
    uri, type_, start, end, *rest = row
    return (uri, start, _Ready(symbol(f"/r/{type_}")), end, *rest)


def _write_lines(file: TextIO, header: Iterable[str], rows: Iterable[Row]) -> None:
    are_symbols = [column in SYMBOLS for column in header]
    for row in rows:
        file.write("\t".join(map(_value, row, are_symbols)) + "\n")


def _value(value: object, is_symbol: bool) -> str:
    match value:
        case None:
            return ""
        case _Ready():
            return value
        case list():
            return "|".join(map(symbol, value))
        case str():
            return symbol(value) if is_symbol else string(value)
        case _:
            return repr(value)


def symbol(name: str) -> str:
    r"""
    >>> print(symbol("/c/en/a|b"), symbol("0.jpg"))
    /c/en/a\|b \0.jpg
    """
    mark = "\\" if name[:1] in NOT_A_SYMBOL else ""
    return mark + name.translate(_ESCAPES)


def string(text: str) -> str:
    r"""
    >>> print(string('a "b"\t|'))
    "a \"b\"\t\|"
    """
    return f'"{text.translate(_ESCAPES).translate(_QUOTES)}"'


def name_of(text: str, language: str) -> str:
    r"""A language KGTK does not know as one makes no difference to the text.

    >>> print(name_of("cat's cradle", "en"), name_of("x", "unknown"))
    'cat\'s cradle'@en "x"
    """
    tag = language.replace("_", "-")
    if not _LANGUAGE.fullmatch(tag):
        return string(text)
    return f"'{text.translate(_ESCAPES).translate(_QUOTES)}'@{tag}"
