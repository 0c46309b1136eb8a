"""The receiving node, over SSH: one connection, files that are sent, what the node says of them.

Promise: a file has its name on the node only after every single write was answered with yes.
Nothing waits longer than its timeout while nothing arrives.

Limit: paramiko pipelines writes but looks at few of their answers. The answers are collected here,
by two calls of paramiko that are not public; a test against real servers watches over them.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import paramiko
from paramiko.sftp import (
    CMD_CLOSE,
    CMD_EXTENDED,
    CMD_OPEN,
    CMD_STATUS,
    CMD_WRITE,
    SFTP_FAILURE,
    SFTP_FLAG_CREATE,
    SFTP_FLAG_TRUNC,
    SFTP_FLAG_WRITE,
    SFTP_OK,
    SFTP_OP_UNSUPPORTED,
    int64,
)

from ..errors import NoRoom
from .settings import TransportSettings
from .ssh import WINDOW, Login

CHUNK = 255 * 1024  # what OpenSSH takes in one write
AHEAD = 2**24  # bytes that may wait for their answers
MOST_TEXT = 2**20  # bytes of a small file that is read
EMPTY = hashlib.sha256().hexdigest()
HASHERS = ("openssl dgst -sha256 -r {0}", "sha256sum -- {0} || shasum -a 256 -- {0}")
"""The first uses what the processor has for it, which makes it several times as fast."""
SLOWEST_HASH = 10_000_000  # bytes a second


class Refused(OSError):
    """The node has answered, and its answer is no."""


class Answers:
    """Counts what the node has taken; paramiko hands every answer to it."""

    def __init__(self) -> None:
        self.waiting: dict[int, int] = {}  # bytes of each request without an answer
        self.bytes = 0  # of all of them
        self.refused: str | None = None
        self.code = SFTP_OK  # the last one that was told

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


class Node:
    """A connection; used by one thread."""

    def __init__(self, settings: TransportSettings) -> None:
        self._timeout_s = settings.timeout_s
        self._login = Login(settings)
        self.place = self._login.place
        self._hashers = list(HASHERS)
        self.replaces_files = True  # by a rename, until it is seen that it cannot
        self._sftp: Any  # it is called where it has no types
        try:
            with self._translating("offers no SFTP"):
                self._sftp = Requests.from_transport(self._login.transport, WINDOW)
                self._sftp.get_channel().settimeout(settings.timeout_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._login.close()

    def _translating(self, what: str) -> AbstractContextManager[None]:
        return self._login.translating(what)

    # --- files -----------------------------------------------------------------------------

    def size_of(self, path: str) -> int | None:
        """None if there is no such file."""
        with self._translating(f"does not tell of {path}"):
            try:
                facts = self._sftp.stat(path)
            except FileNotFoundError:
                return None
            return facts.st_size or 0

    def read(self, path: str) -> bytes | None:
        with self._translating(f"does not give {path}"):
            try:
                with self._sftp.open(path, "rb") as file:
                    text: bytes = file.read(MOST_TEXT)
                    return text
            except FileNotFoundError:
                return None

    def holds(self, path: str, content: bytes) -> bool:
        """A long one is compared by its size only: whoever reads it there compares the rest."""
        if self.size_of(path) != len(content):
            return False
        return len(content) > MOST_TEXT or self.read(path) == content

    def make_folder(self, path: str) -> None:
        """Its parent must be there: a wrong name in the settings must not make a new place."""
        with self._translating(f"lets us make no folder {path}"):
            if self.size_of(path) is None:
                self._sftp.mkdir(path)

    def remove(self, path: str) -> None:
        with self._translating(f"does not remove {path}"), suppress(FileNotFoundError):
            self._sftp.remove(path)

    def remove_folder(self, path: str) -> None:
        """An empty one."""
        with self._translating(f"does not remove {path}"), suppress(FileNotFoundError):
            self._sftp.rmdir(path)

    def rename(self, path: str, to: str) -> None:
        """Over what has that name, if need be."""
        with self._translating(f"does not rename {path}"):
            try:
                self._sftp.posix_rename(path, to)
            except OSError as error:
                if type(error) is not OSError:  # it says more than that it cannot
                    raise
                self._rename_plainly(path, to)

    def _rename_plainly(self, path: str, to: str) -> None:
        """As every server can, but not over another file. That is of an attempt before, so it may
        go; for this moment there is none of that name."""
        if self.size_of(path) is not None:
            self.remove(to)
        self._sftp.rename(path, to)
        self.replaces_files = False

    def write(self, path: str, content: bytes) -> None:
        """A small file, visible when it is whole."""
        chunks = (content[at : at + CHUNK] for at in range(0, len(content), CHUNK))
        self.send(f"{path}.part", chunks)
        self.rename(f"{path}.part", path)

    def send(self, path: str, chunks: Iterable[bytes], begin: int = 0) -> None:
        """Write these chunks from that place on; return when the node has answered for each."""
        flags = SFTP_FLAG_WRITE | SFTP_FLAG_CREATE | (0 if begin else SFTP_FLAG_TRUNC)
        with self._translating(f"does not take {path}"):
            attributes = paramiko.SFTPAttributes()
            handle = self._sftp._request(CMD_OPEN, path, flags, attributes)[1].get_binary()
            try:
                self._write(handle, chunks, begin)
                self._sync(handle)
            except Refused as error:  # what was written behind it hides the gap
                reason = self._full(path) or error
                self.remove(path)
                raise reason from None
            self._sftp._request(CMD_CLOSE, handle)

    def _write(self, handle: bytes, chunks: Iterable[bytes], at: int) -> None:
        answers, sftp = Answers(), self._sftp
        with Watch(self._timeout_s, self._login.close) as watch:
            for chunk in chunks:
                watch.since = time.monotonic()
                number = sftp._async_request(answers, CMD_WRITE, handle, int64(at), chunk)
                watch.since = None
                answers.expect(number, len(chunk))
                at += len(chunk)
                while answers.bytes > AHEAD or sftp.get_channel().recv_ready():
                    self._take_answer(answers)
        while answers.waiting:
            self._take_answer(answers)

    def _sync(self, handle: bytes) -> None:
        """Onto the disk, where the server knows how to."""
        answers, sftp = Answers(), self._sftp
        request = sftp._async_request(answers, CMD_EXTENDED, "fsync@openssh.com", handle)
        answers.expect(request, 0)
        while answers.waiting:
            sftp._read_response()
        if answers.refused is not None and answers.code != SFTP_OP_UNSUPPORTED:
            raise Refused(answers.refused)

    def _take_answer(self, answers: Answers) -> None:
        self._sftp._read_response()
        if answers.refused is not None:
            raise Refused(answers.refused)

    def _full(self, path: str) -> NoRoom | None:
        """OpenSSH says no more than "Failure"; a full disk must be asked for."""
        free = self.free(path.rpartition("/")[0])
        if free is None or free >= CHUNK:
            return None
        return NoRoom(f"the disk of {self.place} is full: make room there")

    # --- what the node says ----------------------------------------------------------------

    def free(self, folder: str) -> int | None:
        """Bytes we may still write there; None if the node does not tell."""
        try:
            _, answer = self._sftp._request(CMD_EXTENDED, "statvfs@openssh.com", folder)
            _, fragment, _, _, available = (answer.get_int64() for _ in range(5))
            return int(fragment * available)
        except (OSError, paramiko.SSHException):
            return None

    def hash_of(self, path: str, size: int) -> str | None:
        """The node's own SHA-256; None where no command may be run."""
        with self._translating(f"does not tell the hash of {path}"):
            return self._hash(self._sftp.normalize(path), size)

    def can_hash(self) -> bool:
        with self._translating("does not tell whether it runs commands"):
            return self._hash("/dev/null", 0) == EMPTY

    def _hash(self, path: str, size: int) -> str | None:
        """A way that did not help once is not tried again."""
        while self._hashers:
            found = self._run_hash(self._hashers[0].format(shlex.quote(path)), size)
            if found is not None:
                return found
            del self._hashers[0]
        return None

    def _run_hash(self, command: str, size: int) -> str | None:
        transport = self._login.transport
        try:
            session = transport.open_session(timeout=self._timeout_s)
        except paramiko.ChannelException:
            return None
        with session:
            session.settimeout(self._timeout_s + size / SLOWEST_HASH)
            try:
                session.exec_command(command)
            except paramiko.SSHException:
                if transport.is_active():
                    return None
                raise
            session.shutdown_write()  # where SFTP is forced upon every command, it ends by this
            words = session.makefile("rb").read(MOST_TEXT).split()
        # A name with odd characters is announced by a backslash before the hash.
        found = words[0].decode(errors="replace").lstrip("\\") if words else ""
        return found if len(found) == 64 and set(found) <= set("0123456789abcdef") else None
