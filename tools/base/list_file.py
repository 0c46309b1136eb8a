"""A file that somebody wrote a list into: its lines, in whatever encoding an editor chose."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from ..errors import UsageError

LONGEST_LINE = 100_000  # characters

_MARKS = {  # what a file begins with if it says how its letters are written; the longest first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def lines_in(file: Path) -> Iterator[tuple[int, str]]:
    """Each line and its number; a line that is no text, or endless, is named."""
    try:
        with file.open("rb") as content:  # once: it may be a pipe
            first = content.peek(4)
            encoding = next((_MARKS[mark] for mark in _MARKS if first.startswith(mark)), "utf-8")
            text = TextIOWrapper(content, encoding, errors="replace")
            number = 0
            while line := text.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise UsageError(f"line {number} of {file} is too long for a list of seeds")
                if "\ufffd" in line or "\0" in line:
                    raise UsageError(f"line {number} of {file} is not UTF-8: save it as UTF-8")
                yield number, line
    except OSError as error:
        raise UsageError(f"the seed file {file} cannot be read: {error.strerror}") from error
