"""The first line and the headers of an answer.

Promise: headers are kept as they were sent, in their order, each as often as it came; a line that
is no header spoils none of the others.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .stream import LONGEST_LINE

MOST_FIELDS = 100
STATUS = re.compile(r"(HTTP/[^ \t]*)[ \t]+([1-9][0-9]{2})(?:[ \t]+(.*))?[ \t]*", re.DOTALL)
NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
FIELD = re.compile(rf"^({NAME.pattern}):([^\x00\r\n]*)\r*$", re.MULTILINE)
NOT_IN_A_VALUE = re.compile(r"[\x00\r\n]")
OLD = ("HTTP/1.0", "HTTP/0.9")
OF_THE_FRAME = frozenset(
    {"content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"}
)

Fields = list[tuple[str, str]]


class Head(NamedTuple):
    status: int
    reason: str
    version: str  # HTTP/1.1 or HTTP/1.0
    fields: Fields
    frame: Mapping[str, list[str]]  # those that say where the body ends, by their small names
    is_spoilt: bool  # some of its lines were no headers


class FieldsByName(Mapping[str, str]):
    """By name, however that is written; what came several times is joined."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def all(self, name: str) -> list[str]:
        name = name.lower()
        return [value for each, value in self._fields if each.lower() == name]

    def __getitem__(self, name: str) -> str:
        if not (values := self.all(name)):
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter({name.lower(): name for name, _ in self._fields}.values())

    def __len__(self) -> int:
        return len({name.lower() for name, _ in self._fields})


def head_in(block: bytes) -> Head:
    """What the lines before the empty one say; HTTPException if that is no HTTP."""
    first, _, rest = block.decode("latin-1").partition("\n")
    status, reason, version = _status(first.rstrip("\r"))
    count = rest.count("\n") + 1 if rest else 0
    if count > MOST_FIELDS:
        raise http.client.HTTPException(f"got more than {MOST_FIELDS} headers")
    fields = [(name, value.strip(" \t")) for name, value in FIELD.findall(rest)]
    is_plain = len(fields) == count and len(rest) <= LONGEST_LINE
    if not is_plain:
        fields, is_spoilt = _odd_fields(rest.split("\n") if rest else [])
    return Head(status, reason, version, fields, _frame(fields), not is_plain and is_spoilt)


def _odd_fields(lines: list[str]) -> tuple[Fields, bool]:
    """What some servers send; and are there lines that are no headers?"""
    fields: Fields = []
    is_spoilt = False
    for line in lines:
        if len(line) > LONGEST_LINE:
            raise http.client.LineTooLong("header line")
        name, colon, value = line.partition(":")
        if colon and NAME.fullmatch(name):
            fields.append((name, _value(value)))
        else:
            is_spoilt = True
            _go_on(fields, line)
    return fields, is_spoilt


def _frame(fields: Fields) -> dict[str, list[str]]:
    frame: dict[str, list[str]] = {}
    for name, value in fields:
        if (small := name.lower()) in OF_THE_FRAME:
            frame.setdefault(small, []).append(value)
    return frame


@lru_cache(maxsize=64)
def _status(line: str) -> tuple[int, str, str]:
    if len(line) > LONGEST_LINE:
        raise http.client.LineTooLong("status line")
    if (match := STATUS.fullmatch(line)) is None:
        raise http.client.BadStatusLine(repr(line[:100]))
    version = "HTTP/1.0" if match[1] in OLD else "HTTP/1.1"
    if not match[1].startswith("HTTP/1.") and version != "HTTP/1.0":
        raise http.client.UnknownProtocol(match[1][:100])
    return int(match[2]), _value(match[3] or ""), version


def _go_on(fields: Fields, line: str) -> None:
    """A line that begins with a space goes on with the one before; others are no headers."""
    if fields and line[:1] in (" ", "\t"):
        name, value = fields[-1]
        fields[-1] = (name, f"{value} {_value(line)}".strip())


def _value(value: str) -> str:
    value = value.rstrip("\r").strip(" \t")
    return NOT_IN_A_VALUE.sub(" ", value) if NOT_IN_A_VALUE.search(value) else value
