"""The receiving node, over SSH: one connection, files that are sent, what the node says of them.

Promise: a file has its name on the node only after every single write was answered with yes.
Nothing waits longer than its timeout while nothing arrives.

Limit: paramiko pipelines writes but looks at few of their answers. The answers are collected here,
by two calls of paramiko that are not public; a test against real servers watches over them.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from typing import Any

import paramiko
from paramiko.sftp import (
    CMD_CLOSE,
    CMD_EXTENDED,
    CMD_OPEN,
    CMD_STATUS,
    CMD_WRITE,
    SFTP_FLAG_CREATE,
    SFTP_FLAG_TRUNC,
    SFTP_FLAG_WRITE,
    SFTP_OK,
    int64,
)

from tools.errors import NoRoom
from tools.login import WINDOW, Login
from tools.settings import TransportSettings

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

    def expect(self, number: int, size: int) -> None:
        self.waiting[number] = size
        self.bytes += size

    def _async_response(self, kind: int, message: paramiko.Message, number: int) -> None:
        self.bytes -= self.waiting.pop(number, 0)
        if kind != CMD_STATUS or message.get_int() != SFTP_OK:
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


class Node:
    """A connection; used by one thread."""

    def __init__(self, settings: TransportSettings) -> None:
        self._timeout_s = settings.timeout_s
        self._login = Login(settings)
        self.place = self._login.place
        self._hashers = list(HASHERS)
        self._sftp: Any  # it is called where it has no types
        try:
            with self._telling("offers no SFTP"):
                self._sftp = Requests.from_transport(self._login.transport, WINDOW)
                self._sftp.get_channel().settimeout(settings.timeout_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._login.close()

    def _telling(self, what: str) -> AbstractContextManager[None]:
        return self._login.telling(what)

    # --- files -----------------------------------------------------------------------------

    def size_of(self, path: str) -> int | None:
        """None if there is no such file."""
        with self._telling(f"does not tell of {path}"):
            try:
                facts = self._sftp.stat(path)
            except FileNotFoundError:
                return None
            return facts.st_size or 0

    def read(self, path: str) -> bytes | None:
        with self._telling(f"does not give {path}"):
            try:
                with self._sftp.open(path, "rb") as file:
                    text: bytes = file.read(MOST_TEXT)
                    return text
            except FileNotFoundError:
                return None

    def make_folder(self, path: str) -> None:
        """Its parent must be there: a wrong name in the settings must not make a new place."""
        with self._telling(f"lets us make no folder {path}"):
            if self.size_of(path) is None:
                self._sftp.mkdir(path)

    def remove(self, path: str) -> None:
        with self._telling(f"does not remove {path}"), suppress(FileNotFoundError):
            self._sftp.remove(path)

    def rename(self, path: str, to: str) -> None:
        with self._telling(f"does not rename {path}"):
            self._sftp.posix_rename(path, to)

    def write(self, path: str, content: bytes) -> None:
        """A small file, visible when it is whole."""
        chunks = (content[at : at + CHUNK] for at in range(0, len(content), CHUNK))
        self.send(f"{path}.part", chunks)
        self.rename(f"{path}.part", path)

    def send(self, path: str, chunks: Iterable[bytes], begin: int = 0) -> None:
        """Write these chunks from that place on; return when the node has answered for each."""
        flags = SFTP_FLAG_WRITE | SFTP_FLAG_CREATE | (0 if begin else SFTP_FLAG_TRUNC)
        with self._telling(f"does not take {path}"):
            attributes = paramiko.SFTPAttributes()
            handle = self._sftp._request(CMD_OPEN, path, flags, attributes)[1].get_binary()
            try:
                self._write(handle, chunks, begin)
            except Refused as error:
                raise self._full(path) or error from None
            with suppress(OSError):  # a server that does not know it
                self._sftp._request(CMD_EXTENDED, "fsync@openssh.com", handle)
            self._sftp._request(CMD_CLOSE, handle)

    def _write(self, handle: bytes, chunks: Iterable[bytes], at: int) -> None:
        answers, sftp = Answers(), self._sftp
        for chunk in chunks:
            number = sftp._async_request(answers, CMD_WRITE, handle, int64(at), chunk)
            answers.expect(number, len(chunk))
            at += len(chunk)
            while answers.bytes > AHEAD or sftp.get_channel().recv_ready():
                self._take_answer(answers)
        while answers.waiting:
            self._take_answer(answers)

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
        with self._telling(f"does not tell the hash of {path}"):
            return self._hash(self._sftp.normalize(path), size)

    def can_hash(self) -> bool:
        with self._telling("does not tell whether it runs commands"):
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
