"""What a client asks of a server of ours: its first line and its headers.

Promise: who asks without measure, or speaks no HTTP, is refused with the status that says so. A
line that is no header is never passed over: another reader might take it for one.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from http.client import LineTooLong
from typing import Any, NamedTuple

from .head import FIELD, MOST_FIELDS
from .stream import LONGEST_LINE, FirstLineTooLong, Stream

_FIRST = re.compile(r"([!-~]+) ([^ \t\r\n]+) HTTP/(\d)\.(\d)\r*")


class Refused(Exception):
    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Headers(dict[str, str]):
    """By lower-case name; the first of a name counts."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())


class Incoming(NamedTuple):
    line: str
    method: str
    target: str
    headers: Headers
    is_last: bool  # on this connection, as far as the client is concerned


def incoming(stream: Stream) -> Incoming:
    """The next request; OSError if none comes."""
    first, _, rest = _head(stream).partition("\n")
    if (found := _FIRST.fullmatch(first)) is None:
        raise Refused(HTTPStatus.BAD_REQUEST)
    method, target, major, minor = found.groups()
    if major != "1":
        raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    headers = _headers(rest)
    wish = headers.get("connection", "").lower()
    is_last = wish == "close" if minor != "0" else wish != "keep-alive"
    return Incoming(first.rstrip("\r"), method, target, headers, is_last)


def _head(stream: Stream) -> str:
    try:
        return stream.head().decode("latin-1")
    except FirstLineTooLong:
        raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG) from None
    except LineTooLong:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None


def _headers(lines: str) -> Headers:
    count = lines.count("\n") + 1 if lines else 0
    is_long = len(lines) > LONGEST_LINE and max(map(len, lines.split("\n"))) > LONGEST_LINE
    if count > MOST_FIELDS or is_long:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    found = FIELD.findall(lines)
    if len(found) != count:
        raise Refused(HTTPStatus.BAD_REQUEST)
    return Headers((name.lower(), value.strip(" \t")) for name, value in reversed(found))
