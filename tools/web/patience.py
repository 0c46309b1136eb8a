"""How long a client may keep us waiting: one that sends no whole request, or takes nothing of what
we send, is dropped."""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0  # until a request's head is here
TAKE_S = 10.0  # in which something of a full buffer must be taken


class Patience(H11Protocol):
    """uvicorn's own, with two deadlines."""

    _late: asyncio.TimerHandle | None = None
    _full: asyncio.TimerHandle | None = None
    _left = 0  # bytes that were not taken when `_full` was set

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:  # a head was whole
            self._stop(self._late)
            self._late = None
        elif self._late is None and self._is_idle():
            self._wait_for_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_taking()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop(self._full)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._late, self._full):
            self._stop(timer)
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(HEAD_S, self.transport.abort)

    def _wait_for_taking(self) -> None:
        self._left = self._not_taken()
        self._full = self.loop.call_later(TAKE_S, self._drop_unless_taking)

    def _drop_unless_taking(self) -> None:
        """A body is written in one piece, and `resume_writing` comes only at its end."""
        if self._not_taken() < self._left:
            self._wait_for_taking()
        else:
            self.transport.abort()

    def _not_taken(self) -> int:
        """Bytes that wait here and, where it tells, in the kernel, which asks for more only after a
        third of its own is gone: on a slow line that takes longer."""
        transport, waiting = self.transport, bytes(4)
        with suppress(OSError):  # not every system tells that of a socket
            waiting = fcntl.ioctl(transport.get_extra_info("socket"), termios.TIOCOUTQ, waiting)
        return transport.get_write_buffer_size() + int.from_bytes(waiting, sys.byteorder)

    def _stop(self, timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
