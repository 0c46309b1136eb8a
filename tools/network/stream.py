"""What arrives on a socket, until a moment in time.

Promise: the deadline holds for all that is read, however slowly the bytes drip; a socket's own
timeout starts anew with each of them. However a server cuts what it sends into pieces, reading it
takes a time that grows with its length alone, and no line and no head is endless.
"""

from __future__ import annotations

import http.client
import re
import socket
import time

AT_ONCE = 2**16  # bytes: most pages come in one piece
TOLERANCE_S = 0.05
LONGEST_LINE = 65536
LARGEST_HEAD = 4 * LONGEST_LINE
BEGINNING = b"HTTP/"
BLANK_LINE = re.compile(rb"\n\r*\n")


class FirstLineTooLong(http.client.LineTooLong):
    pass


class Stream:
    """Of one answer, or of what a client asks, which begins as it likes; `is_silent` until its
    first byte is here."""

    __slots__ = ("_at", "_beginning", "_rest", "_silence", "_sock", "deadline", "is_silent")

    def __init__(self, sock: socket.socket, deadline: float, beginning: bytes = BEGINNING) -> None:
        self._sock = sock
        self.deadline = deadline
        self._beginning = beginning
        self.is_silent = True
        self._rest = b""  # arrived, and taken up to _at
        self._at = 0
        self._silence: float | None = None

    def allow_silence(self, seconds: float) -> None:
        """From now on the deadline is for the next byte: only so much silence ends it."""
        self._silence = seconds
        self.deadline = time.monotonic() + seconds

    def head(self) -> bytes:
        """All lines up to an empty one, which is taken too; it is no head if the stream ends."""
        block = self._rest[self._at :] or self._receive()
        if (found := BLANK_LINE.search(block)) is None:
            return self._long_head(bytearray(block))
        self._rest, self._at = block, found.end()
        return block[: found.start()]

    def line(self) -> bytes:
        """With its end; b"" or without one if the stream ends there."""
        if (end := self._rest.find(b"\n", self._at) + 1) == 0:
            return self._long_line(bytearray(self._rest[self._at :]))
        line = self._rest[self._at : end]
        self._at = end
        return line

    def take(self, most: int) -> bytes:
        """What is here, or the next that comes; b"" at the end."""
        piece = self._rest[self._at : self._at + most]
        if piece:
            self._at += len(piece)
            return piece
        piece = self._receive()
        if len(piece) <= most:
            return piece
        self._rest, self._at = piece, most
        return piece[:most]

    @property
    def has_more(self) -> bool:
        """Has more arrived here than was taken?"""
        pending = getattr(self._sock, "pending", None)  # what TLS has unpacked already
        return self._at < len(self._rest) or bool(pending and pending())

    def _long_head(self, block: bytearray) -> bytes:
        """In several pieces: each byte is looked at once, but for those of the last line."""
        found = None
        while found is None:
            last = max(block.rfind(b"\n"), 0)
            if not self._beginning.startswith(block[: len(self._beginning)]):
                raise http.client.BadStatusLine(repr(bytes(block[:100])))
            if len(block) > LONGEST_LINE and block.find(b"\n", 0, LONGEST_LINE) < 0:
                raise FirstLineTooLong("first line")
            if len(block) - last > LONGEST_LINE or len(block) > LARGEST_HEAD:
                raise http.client.LineTooLong("header line")
            if not (piece := self._receive()):
                raise _cut_off(block)
            block += piece
            found = BLANK_LINE.search(block, last)
        self._rest, self._at = bytes(block), found.end()
        return self._rest[: found.start()]

    def _long_line(self, line: bytearray) -> bytes:
        self._rest, self._at = b"", 0
        while len(line) <= LONGEST_LINE:
            piece = self._receive()
            end = piece.find(b"\n") + 1
            line += piece[:end] if end else piece
            if end or not piece:
                self._rest, self._at = piece, end
                return bytes(line)
        raise http.client.LineTooLong("line")

    def _receive(self) -> bytes:
        """What comes next. Each change of a timeout is a system call."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to arrive")
        if abs(left - (self._sock.gettimeout() or 0.0)) > TOLERANCE_S:
            self._sock.settimeout(left)
        piece = self._sock.recv(AT_ONCE)
        if piece:
            self.is_silent = False
            if self._silence is not None:
                self.deadline = time.monotonic() + self._silence
        return piece


def _cut_off(block: bytearray) -> Exception:
    if block:
        return ConnectionError("cut off within the headers")
    return http.client.RemoteDisconnected("it hung up without an answer")
