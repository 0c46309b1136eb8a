"""The receiving node, over SSH: one connection, files that are sent, what the node says of them.

Promise: a file has its name on the node only after every single write was answered with yes.
Nothing waits longer than its timeout while nothing arrives.
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
    SFTP_FLAG_CREATE,
    SFTP_FLAG_TRUNC,
    SFTP_FLAG_WRITE,
)

from ..errors import NoRoom
from .pipeline import CHUNK, Pipeline, Refused
from .program import Program, is_meant
from .settings import TransportSettings
from .ssh import Login
from .way import MOST_TEXT, Way

EMPTY = hashlib.sha256().hexdigest()
HASHERS = ("openssl dgst -sha256 -r {0}", "sha256sum -- {0} || shasum -a 256 -- {0}")
"""The first uses what the processor has for it, which makes it several times as fast."""
SLOWEST_HASH = 10_000_000  # bytes a second


class Node:
    """A connection; used by one thread."""

    def __init__(self, settings: TransportSettings) -> None:
        self._timeout_s = settings.timeout_s
        self._way: Way = Program(settings) if is_meant(settings) else Login(settings)
        self.place = self._way.place
        self._hashers = list(HASHERS)
        self.replaces_files = True  # by a rename, until it is seen that it cannot
        try:
            self._sftp: Any = self._way.sftp()  # it is called where it has no types
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._way.close()

    def _translating(self, what: str) -> AbstractContextManager[None]:
        return self._way.translating(what)

    # --- files -----------------------------------------------------------------------------

    def size_of(self, path: str) -> int | None:
        """None if there is no such file."""
        with self._translating(f"says nothing of {path}"):
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
                pipeline = Pipeline(self._sftp, handle, self._timeout_s, self._way.close)
                pipeline.write(chunks, begin)
                pipeline.sync()
            except Refused as error:  # what was written behind it hides the gap
                reason = self._full(path) or error
                self.remove(path)
                raise reason from None
            self._sftp._request(CMD_CLOSE, handle)

    def _full(self, path: str) -> NoRoom | None:
        """OpenSSH says no more than "Failure"; a full disk must be asked for."""
        free = self.free(path.rpartition("/")[0])
        if free is None or free >= CHUNK:
            return None
        return NoRoom(f"the disk of {self.place} is full: make room there")

    # --- what the node says ----------------------------------------------------------------

    def free(self, folder: str) -> int | None:
        """Bytes we may still write there; None if the node does not say."""
        with self._translating("does not say its room"):
            try:
                _, answer = self._sftp._request(CMD_EXTENDED, "statvfs@openssh.com", folder)
            except TimeoutError:
                raise
            except OSError:  # its answer is no
                return None
            _, fragment, _, _, available = (answer.get_int64() for _ in range(5))
            return int(fragment * available)

    def hash_of(self, path: str, size: int) -> str | None:
        """The node's own SHA-256; None where no command may be run."""
        with self._translating(f"does not give the hash of {path}"):
            return self._hash(self._sftp.normalize(path), size)

    def can_hash(self) -> bool:
        with self._translating("does not say whether it runs commands"):
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
        words = self._way.run(command, self._timeout_s + size / SLOWEST_HASH).split()
        # A name with odd characters is announced by a backslash before the hash.
        found = words[0].decode(errors="replace").lstrip("\\") if words else ""
        return found if len(found) == 64 and set(found) <= set("0123456789abcdef") else None
