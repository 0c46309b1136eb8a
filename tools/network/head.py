"""The headers of an answer.

Promise: they are kept as they were sent, in their order, each as often as it came; a line that is
no header spoils none of the others. What is endless ends with an error.
"""

from __future__ import annotations

import http.client
import re
from typing import BinaryIO, NamedTuple

LONGEST_LINE = 65536
MOST_FIELDS = 100
LARGEST_HEAD = 4 * LONGEST_LINE
FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*)", re.DOTALL)
NOT_IN_A_VALUE = re.compile(rb"[\x00\r\n]")

Fields = list[tuple[str, str]]


class Head(NamedTuple):
    fields: Fields
    is_spoilt: bool  # some of its lines were no headers

    def all(self, name: str) -> list[str]:
        """The values of this one, whose name is given in small letters."""
        return [value for each, value in self.fields if each.lower() == name]


def read_head(source: BinaryIO) -> Head:
    fields: Fields = []
    is_spoilt = False
    for line in _lines(source):
        if line[:1] in b" \t":  # it goes on
            is_spoilt = True
            if fields:
                name, value = fields[-1]
                fields[-1] = (name, f"{value} {_text(line)}".strip())
        elif match := FIELD.fullmatch(line):
            fields.append((match[1].decode(), _text(match[2])))
        else:
            is_spoilt = True
    return Head(fields, is_spoilt)


def _lines(source: BinaryIO) -> list[bytes]:
    """Without their ends; the empty line behind them is taken too."""
    found: list[bytes] = []
    size = 0
    while True:
        line = source.readline(LONGEST_LINE + 1)
        size += len(line)
        if len(line) > LONGEST_LINE or size > LARGEST_HEAD:
            raise http.client.LineTooLong("header line")
        if not line:
            raise ConnectionError("cut off within the headers")
        line = line.rstrip(b"\r\n")
        if not line:
            return found
        found.append(line)
        if len(found) > MOST_FIELDS:
            raise http.client.HTTPException(f"got more than {MOST_FIELDS} headers")


def _text(value: bytes) -> str:
    value = value.strip(b" \t")
    if NOT_IN_A_VALUE.search(value):
        value = NOT_IN_A_VALUE.sub(b" ", value)
    return value.decode("iso-8859-1")
