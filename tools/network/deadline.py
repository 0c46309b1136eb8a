"""Answers that are read until a moment in time.

Promise: a timeout holds for the whole of what is read, however slowly the bytes drip; a socket's
own timeout starts anew with each of them.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import urllib3

from .head import Fields, Head, read_head

TOLERANCE_S = 0.05
AT_ONCE = 2**16  # bytes: most pages come in one piece
NO_BODY = frozenset({204, 304})
MOST_INTERIM = 100  # answers below 200 before the final one
MOST_INTERIM_BYTES = 65536  # of their headers, all together


class DeadlineReader(io.RawIOBase):
    """Reads a socket until a moment in time, however slowly the bytes drip."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self.deadline = time.monotonic() + (sock.gettimeout() or 0.0)
        self.ended = False
        self._silence: float | None = None
        self._is_over = False

    def allow_silence(self, silence: float) -> None:
        """From now on the deadline is for the next byte: only so many seconds of silence end it."""
        self._silence = silence
        self._renew(silence)

    def has_more_than(self, taken: io.BufferedReader) -> bool:
        """Has more arrived here than was taken? From now on nothing more is read."""
        self._is_over = True
        pending = getattr(self._sock, "pending", None)  # what TLS has unpacked already
        return bool(taken.peek(1)) or bool(pending and pending())

    def hang_up(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._is_over:
            return 0
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to arrive")
        if left < (self._sock.gettimeout() or 0.0) - TOLERANCE_S:  # each change is a system call
            self._sock.settimeout(left)
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        if count and self._silence is not None:
            self._renew(self._silence)
        return count

    def _renew(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        if (self._sock.gettimeout() or 0.0) < seconds:  # it was shortened on the way
            self._sock.settimeout(seconds)

    def close(self) -> None:
        self._raw.close()
        super().close()


class DeadlineResponse(http.client.HTTPResponse):
    """The read timeout holds for the whole answer, headers and body, not for each read of it.

    It is the final answer, and all that came: a connection on which anything else was said is not
    used again, lest the next request gets this one's answer.
    """

    fields: Fields  # its headers as they were sent, in their order

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._reader = DeadlineReader(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._reader, AT_ONCE)

    def begin(self) -> None:
        if self.headers is not None:
            return
        version, status, reason = self._read_status()
        self.code = self.status = status
        self.reason = reason.strip()
        self.version = _version(version)
        head = read_head(self.fp)
        self.fields = head.fields
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in head.fields:
            self.msg.set_raw(name, value)
        self._find_end(head)

    def _find_end(self, head: Head) -> None:
        """Where the body ends, and whether another answer can follow on this connection."""
        codings, lengths = head.all("transfer-encoding"), head.all("content-length")
        self.chunked = bool(codings) and codings[0].lower() == "chunked"
        self.chunk_left = None
        self.length = None if self.chunked else _length(lengths)
        if self.status in NO_BODY or self._method == "HEAD":  # type: ignore[attr-defined]
            self.length = 0
        is_odd = head.is_spoilt or _is_oddly_framed(codings, lengths)
        is_endless = self.length is None and not self.chunked
        self.will_close = is_odd or is_endless or self._check_close()  # type: ignore[attr-defined]

    def _read_status(self) -> tuple[str, int, str]:
        """Of the final answer: http.client takes every interim one but 100 for it."""
        left = MOST_INTERIM_BYTES
        for _ in range(MOST_INTERIM + 1):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status >= 200:
                return version, status, reason
            if status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                raise ConnectionError("HTTP 101, a change of protocol that nobody asked for")
            while (line := self.fp.readline(left + 1)).strip():
                left -= len(line)
                if left < 0:
                    raise ConnectionError("too many interim answers")
        raise ConnectionError("too many interim answers")

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:  # http.client would read on to the end of the connection
            raise http.client.HTTPException("a chunk of less than nothing")
        return size

    def _close_conn(self) -> None:
        """The body is at its end, or nobody wants the rest of it."""
        if self._reader.has_more_than(self.fp):
            self._reader.hang_up()
        super()._close_conn()  # type: ignore[misc]


def _is_oddly_framed(codings: Sequence[str], lengths: Sequence[str]) -> bool:
    """Can it be doubted where the body ends?"""
    if codings:
        return bool(lengths) or [each.lower() for each in codings] != ["chunked"]
    return len(lengths) > 1


def _length(lengths: Sequence[str]) -> int | None:
    """None if it is not to be known: the body then ends with the connection."""
    first = lengths[0] if lengths else ""
    return int(first) if first.isascii() and first.isdecimal() and len(first) < 19 else None


def _version(said: str) -> int:
    if said in ("HTTP/1.0", "HTTP/0.9"):
        return 10
    if not said.startswith("HTTP/1."):
        raise http.client.UnknownProtocol(said)
    return 11


def allow_silence(response: urllib3.BaseHTTPResponse, silence: float) -> None:
    """The rest of this answer may take any time, but for so many seconds of silence."""
    cast(Any, response)._fp._reader.allow_silence(silence)
