"""Bytes of messages over a socket between two processes of this machine.

Promise: a message comes whole or not at all; sending never waits, and what is not taken is bounded;
receiving waits no longer than it is told. Any thread may send, one receives.
"""

from __future__ import annotations

import select
import socket
import struct
from threading import Lock

from .wire import LARGEST

LENGTH = struct.Struct("!I")
CHUNK = 1 << 18
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)  # Python ignores it anyway
MOST_UNSENT = 8 * LARGEST
GONE = "it is gone"


class Broken(Exception):
    """The other side is gone, or says what cannot be right."""


class Link:
    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._unsent = bytearray()
        self._came = bytearray()
        self._lock = Lock()
        self._poll = select.poll()

    def send(self, message: bytes) -> None:
        """At once, or by whoever receives here as soon as the other side takes it."""
        frame = LENGTH.pack(len(message)) + message
        with self._lock:
            if len(self._unsent) + len(frame) > MOST_UNSENT:
                raise Broken("it takes no messages")
            sent = 0 if self._unsent else self._written(frame)
            self._unsent += frame[sent:]

    def receive(self, seconds: float) -> list[bytes]:
        """What has come whole within so long, perhaps nothing."""
        wanted = select.POLLIN | (select.POLLOUT if self._unsent else 0)
        self._poll.register(self._socket, wanted)
        for _, events in self._poll.poll(seconds * 1000):
            if events & select.POLLOUT:
                self._flush()
            if events & ~select.POLLOUT:
                self._read()
        return self._whole()

    def close(self) -> None:
        with self._lock:
            self._socket.close()

    def _read(self) -> None:
        try:
            got = self._socket.recv(CHUNK)
        except BlockingIOError:
            return
        except ConnectionError:
            got = b""
        except OSError as error:
            raise Broken(str(error)) from None
        if not got:
            raise Broken(GONE)
        self._came += got

    def _whole(self) -> list[bytes]:
        found, at, came = [], 0, self._came
        while len(came) - at >= LENGTH.size:
            (length,) = LENGTH.unpack_from(came, at)
            if length > LARGEST:
                raise Broken(f"a message of {length:,} bytes")
            end = at + LENGTH.size + length
            if len(came) < end:
                break
            found.append(bytes(came[at + LENGTH.size : end]))
            at = end
        del came[:at]
        return found

    def _flush(self) -> None:
        """Who is gone is told by what is read: he may have said something before."""
        with self._lock:
            try:
                del self._unsent[: self._written(self._unsent)]
            except Broken:
                self._unsent.clear()

    def _written(self, content: bytes | bytearray) -> int:
        try:
            return self._socket.send(content, NO_SIGNAL)
        except BlockingIOError:
            return 0
        except ConnectionError:
            raise Broken(GONE) from None
        except OSError as error:
            raise Broken(str(error)) from None
