"""Sockets that others read as files, until a moment in time: what clients of our own servers ask,
and what a proxy says before it lets us through.

Promise: a timeout holds for the whole of what is read, however slowly the bytes drip; a socket's
own timeout starts anew with each of them.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

from .arrival import MOST_INTERIM, MOST_INTERIM_BYTES
from .stream import AT_ONCE, TOLERANCE_S


class DeadlineReader(io.RawIOBase):
    """Reads a socket until a moment in time, however slowly the bytes drip."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self.deadline = time.monotonic() + (sock.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to arrive")
        if left < (self._sock.gettimeout() or 0.0) - TOLERANCE_S:  # each change is a system call
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class DeadlineResponse(http.client.HTTPResponse):
    """The socket's timeout holds for the whole answer; it is the final one."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(DeadlineReader(self.fp.detach(), sock), AT_ONCE)

    def _read_status(self) -> tuple[str, int, str]:
        """Of the final answer: http.client takes every interim one but 100 for it."""
        left = MOST_INTERIM_BYTES
        for _ in range(MOST_INTERIM + 1):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status >= http.HTTPStatus.OK:
                return version, status, reason
            while (line := self.fp.readline(left + 1)).strip():
                left -= len(line)
                if left < 0:
                    raise ConnectionError("too many interim answers")
        raise ConnectionError("too many interim answers")
