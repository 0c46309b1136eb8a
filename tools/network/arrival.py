"""The final answer to a request while it arrives: its head, then its body piece by piece.

Promise: it is the final answer, and all that came. Where it ends is known from its own head; if
that can be doubted, or anything else was said, its connection is not used again, lest the next
request gets this one's answer.
"""

from __future__ import annotations

import http.client
import re
from http import HTTPStatus

from .head import MOST_FIELDS, Head, head_in
from .stream import LARGEST_HEAD, Stream

NO_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
MOST_INTERIM = 100  # answers below 200 before the final one
MOST_INTERIM_BYTES = 65536  # of their headers, all together
CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r*\n", re.DOTALL)
ENDLESS = 10**18


class Arrival:
    """`length` of its body is None if it does not say."""

    def __init__(self, stream: Stream, method: str) -> None:
        self._stream = stream
        self.head = head = _final_head(stream)
        codings = head.frame.get("transfer-encoding", [])
        lengths = head.frame.get("content-length", [])
        has_none = method == "HEAD" or head.status in NO_BODY
        self._is_chunked = bool(codings) and codings[0].lower() == "chunked" and not has_none
        self._has_begun = False  # with its chunks
        self.length = 0 if has_none else None if self._is_chunked else _length(lengths)
        self._is_endless = self.length is None and not self._is_chunked
        self._left = ENDLESS if self._is_endless else self.length or 0
        self.is_last = (
            head.is_spoilt
            or self._is_endless
            or _is_oddly_framed(codings, lengths)
            or (bool(codings) and has_none)
            or _closes(head)
        )

    @property
    def is_over(self) -> bool:
        """Was all of it taken?"""
        return not self._left and not self._is_chunked

    @property
    def leaves_nothing(self) -> bool:
        """And may another answer follow on this connection?"""
        return self.is_over and not self.is_last and not self._stream.has_more

    def some(self, most: int) -> bytes:
        """What is here of the body, or the next that comes; b"" behind its end."""
        if not self._left and not (self._is_chunked and self._next_chunk()):
            return b""
        piece = self._stream.take(min(most, self._left))
        if piece:
            self._left -= len(piece)
        elif self._is_endless:
            self._left = 0
        else:
            raise http.client.IncompleteRead(b"", self._left)
        return piece

    def read(self, most: int) -> bytes:
        """So much of the body, or what is left of it."""
        piece = self.some(most)
        if len(piece) == most or not piece or not (self._left or self._is_chunked):
            return piece
        whole = bytearray(piece)
        while (left := most - len(whole)) and (piece := self.some(left)):
            whole += piece
        return bytes(whole)

    def allow_silence(self, seconds: float) -> None:
        """The rest of it may take any time, but for so many seconds of silence."""
        self._stream.allow_silence(seconds)

    def _next_chunk(self) -> bool:
        """False if there is none any more."""
        if self._has_begun and self._line() not in (b"\r\n", b"\n"):
            raise http.client.HTTPException("a chunk is longer than it says")
        self._has_begun = True
        if (match := CHUNK_SIZE.fullmatch(self._line())) is None:
            raise http.client.HTTPException("a chunk of no size")
        self._left = int(match[1], 16)
        if not self._left:
            self._skip_trailers()
            self._is_chunked = False
        return self._left > 0

    def _line(self) -> bytes:
        line = self._stream.line()
        if not line.endswith(b"\n"):
            raise http.client.IncompleteRead(b"")
        return line

    def _skip_trailers(self) -> None:
        """Who hangs up here has said all the same."""
        left = LARGEST_HEAD
        for _ in range(MOST_FIELDS + 1):
            line = self._stream.line()
            left -= len(line)
            if not line.rstrip(b"\r\n"):
                return
            if left < 0:
                break
        raise http.client.HTTPException("too much behind the last chunk")


def _final_head(stream: Stream) -> Head:
    left = MOST_INTERIM_BYTES
    for _ in range(MOST_INTERIM + 1):
        block = stream.head()
        head = head_in(block)
        if head.status >= HTTPStatus.OK:
            return head
        if head.status == HTTPStatus.SWITCHING_PROTOCOLS:
            raise ConnectionError("HTTP 101, a change of protocol that nobody asked for")
        left -= len(block)
        if left < 0:
            break
    raise ConnectionError("too many interim answers")


def _is_oddly_framed(codings: list[str], lengths: list[str]) -> bool:
    """Can it be doubted where the body ends?"""
    if codings:
        return bool(lengths) or [each.lower() for each in codings] != ["chunked"]
    return len(lengths) > 1


def _length(lengths: list[str]) -> int | None:
    """None if it is not to be known: the body then ends with the connection."""
    first = lengths[0] if lengths else ""
    return int(first) if first.isascii() and first.isdecimal() and len(first) < 19 else None


def _closes(head: Head) -> bool:
    said = ",".join(head.frame.get("connection", ())).lower()
    if head.version == "HTTP/1.1":
        return "close" in said
    proxy = ",".join(head.frame.get("proxy-connection", ())).lower()
    return "keep-alive" not in head.frame and "keep-alive" not in said + proxy
