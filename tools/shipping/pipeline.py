"""Many writes on their way to the node at once, each of them answered.

Promise: a pipeline has succeeded only when every single write was answered with yes. Nothing waits
longer than its timeout while nothing arrives.

Limit: paramiko pipelines writes but looks at few of their answers. They are made and their answers
collected here, by parts of paramiko that are not public; a test against real servers watches over
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from struct import Struct
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import paramiko
from paramiko.sftp import (
    CMD_EXTENDED,
    CMD_STATUS,
    CMD_WRITE,
    SFTP_FAILURE,
    SFTP_OK,
    SFTP_OP_UNSUPPORTED,
)

CHUNK = 255 * 1024  # what OpenSSH takes in one write
# On a long way many writes must be under way at once, or most of the time goes into waiting.
AHEAD = 2**24  # bytes that may wait for their answers


SIZE, HEAD, PLACE = Struct(">I"), Struct(">BII"), Struct(">QI")
"""Of a write: how long it is; its kind, number and handle's length; its offset and own length."""


class Refused(OSError):
    """The node has answered, and its answer is no."""


class Answers:
    """Counts what the node has taken; paramiko hands every answer to it."""

    def __init__(self) -> None:
        self.waiting: dict[int, int] = {}  # bytes of each request without an answer
        self.bytes = 0  # of all of them
        self.refused: str | None = None
        self.code = SFTP_OK  # of the last answer

    def expect(self, number: int, size: int) -> None:
        self.waiting[number] = size
        self.bytes += size

    def _async_response(self, kind: int, message: paramiko.Message, number: int) -> None:
        self.bytes -= self.waiting.pop(number, 0)
        self.code = message.get_int() if kind == CMD_STATUS else SFTP_FAILURE
        if self.code != SFTP_OK:
            self.refused = self.refused or message.get_text() or "no reason given"


class Requests(paramiko.SFTPClient):
    """A large request goes out in many packets; paramiko would copy what is left of it for each."""

    def write_async(self, answers: Answers, handle: bytes, at: int, chunk: bytes) -> int:
        """Its number. As paramiko's own requests, but the chunk is copied once, not three times."""
        sftp: Any = self  # what it counts by is not public
        number: int = sftp.request_number
        sftp.request_number += 1
        sftp._expecting[number] = answers
        head = HEAD.pack(CMD_WRITE, number, len(handle)) + handle + PLACE.pack(at, len(chunk))
        self._write_all(b"".join((SIZE.pack(len(head) + len(chunk)), head, chunk)))
        return number

    def _write_all(self, out: bytes) -> None:
        channel: Any = self.get_channel()  # its types do not know that it takes a view
        left = memoryview(out)
        while left:
            sent = channel.send(left)
            if not sent:
                raise EOFError
            left = left[sent:]


class Watch(Thread):
    """Hangs up on a node that takes nothing any more: where the system has no room for what is
    written, paramiko waits for ever."""

    def __init__(self, seconds: float, hang_up: Callable[[], None]) -> None:
        super().__init__(name="transport watch", daemon=True)
        self.since: float | None = None  # when the write that is made now began
        self._seconds = seconds
        self._hang_up = hang_up
        self._has_hung_up = False
        self._is_over = Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        self._is_over.set()
        self.join()
        if self._has_hung_up:
            raise TimeoutError from error

    def run(self) -> None:
        while not self._is_over.wait(self._seconds / 2):
            since = self.since
            if since is not None and time.monotonic() - since > self._seconds:
                self._has_hung_up = True
                self._hang_up()
                return


class Pipeline:
    """Into one open file of the node."""

    def __init__(
        self, sftp: Any, handle: bytes, timeout_s: float, hang_up: Callable[[], None]
    ) -> None:
        self._sftp = sftp
        self._handle = handle
        self._timeout_s = timeout_s
        self._hang_up = hang_up

    def write(self, chunks: Iterable[bytes], at: int) -> None:
        answers, sftp = Answers(), self._sftp
        with Watch(self._timeout_s, self._hang_up) as watch:
            for chunk in chunks:
                watch.since = time.monotonic()
                number = sftp.write_async(answers, self._handle, at, chunk)
                watch.since = None
                answers.expect(number, len(chunk))
                at += len(chunk)
                # What has come is taken at once: a refusal is seen before more is sent in vain.
                while answers.bytes > AHEAD or sftp.get_channel().recv_ready():
                    self._take_answer(answers)
        while answers.waiting:
            self._take_answer(answers)

    def sync(self) -> None:
        """Onto the disk, where the server knows how to."""
        answers, sftp = Answers(), self._sftp
        request = sftp._async_request(answers, CMD_EXTENDED, "fsync@openssh.com", self._handle)
        answers.expect(request, 0)
        while answers.waiting:
            sftp._read_response()
        if answers.refused is not None and answers.code != SFTP_OP_UNSUPPORTED:
            raise Refused(answers.refused)

    def _take_answer(self, answers: Answers) -> None:
        self._sftp._read_response()
        if answers.refused is not None:
            raise Refused(answers.refused)
