"""A folder over SSH in this process: SFTP and sha256sum, and writes that are refused on request."""

from __future__ import annotations

import hashlib
import os
import shlex
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import paramiko
from paramiko import SFTPAttributes
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_SUCCEEDED,
)
from paramiko.sftp import SFTP_FAILURE, SFTP_OK, SFTP_OP_UNSUPPORTED

if TYPE_CHECKING:
    from typing_extensions import Buffer

PATIENCE_S = 60.0
READ_BYTES = 1 << 20
T = TypeVar("T")


class Shelf:
    """What is shown under which name, and how it misbehaves; that may change at any time.

    Writes that reach beyond the byte `refuse_writes_after` of their file are refused: all of them,
    or as many as `refusals` says. `refused` counts them.
    """

    folder: Path
    remote: str
    runs_sha256sum = True
    knows_posix_rename = True
    gives_back: bytes | None = None  # instead of what a file holds
    refuse_writes_after: int | None = None
    refusals: int | None = None
    refused = 0

    def place(self, name: str) -> Path:
        """Where on this disk; outside of the folder there is nothing."""
        path = Path(os.path.normpath(name))
        if not path.is_relative_to(self.remote):
            raise FileNotFoundError(2, "No such file or directory", name)
        return self.folder / path.relative_to(self.remote)

    def refuses(self, end: int) -> bool:
        if self.refuse_writes_after is None or end <= self.refuse_writes_after:
            return False
        if self.refusals is not None and self.refused >= self.refusals:
            return False
        self.refused += 1
        return True


class SftpServer:
    """Serves a shelf at this port, until it is closed, to the owner of that key."""

    def __init__(
        self, port: int, shelf: Shelf, user: str, key: Path, host_key: Path, log: str
    ) -> None:
        self._door = Door(shelf, user, paramiko.PKey.from_path(key))
        self._shelf, self._host_key, self._log = shelf, host_key, log
        self._transports: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._accept, name="SftpServer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hangs up on everybody."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._thread.join(PATIENCE_S)
        self._listener.close()
        for transport in self._transports:
            transport.close()
            transport.join(PATIENCE_S)

    def _accept(self) -> None:
        with suppress(OSError):  # it is shut down
            while True:
                self._transports.append(self._serve(self._listener.accept()[0]))

    def _serve(self, connection: socket.socket) -> paramiko.Transport:
        transport = paramiko.Transport(connection)
        transport.set_log_channel(self._log)
        transport.add_server_key(paramiko.PKey.from_path(self._host_key))
        transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files, self._shelf)
        transport.start_server(threading.Event(), self._door)  # with an event it does not wait
        return transport


class Door(paramiko.ServerInterface):
    """Whoever has the right key may ask for SFTP, and for sha256sum if the shelf runs it."""

    def __init__(self, shelf: Shelf, user: str, key: paramiko.PKey) -> None:
        self._shelf = shelf
        self._admitted = (user, key)

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        is_right = (username, key) == self._admitted
        return AUTH_SUCCESSFUL if is_right else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if kind == "session":
            return OPEN_SUCCEEDED
        return OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        if not self._shelf.runs_sha256sum:
            return False
        threading.Thread(target=self._run, args=(channel, command.decode()), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel, command: str) -> None:
        """The channel is closed after the client's side: closed earlier, it might be closed before
        paramiko has granted the request."""
        said, code = sha256sum(self._shelf, command)
        with suppress(OSError, EOFError), channel:  # the client has gone
            channel.sendall(said.encode())
            channel.send_exit_status(code)
            channel.shutdown_write()
            while channel.recv(READ_BYTES):
                pass


def sha256sum(shelf: Shelf, command: str) -> tuple[str, int]:
    """What that program would say, and its exit code; what follows on || is not looked at."""
    program, *words = shlex.split(command.partition("||")[0])
    if program != "sha256sum":
        return "", 127
    lines, code = [], 0
    for name in (word for word in words if not word.startswith("-")):
        try:
            path = Path(name) if name == os.devnull else shelf.place(name)
            with path.open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
        except OSError:
            code = 1
    return "".join(lines), code


class Files(paramiko.SFTPServerInterface):
    def __init__(self, server: paramiko.ServerInterface, shelf: Shelf) -> None:
        super().__init__(server)
        self._shelf = shelf
        self._opened: list[Handle] = []

    def session_ended(self) -> None:
        """Paramiko leaves them open where its channel cannot be closed because the wire is cut."""
        for handle in self._opened:
            handle.close()

    def list_folder(self, path: str) -> list[SFTPAttributes] | int:
        def listed() -> list[SFTPAttributes]:
            found = self._shelf.place(path).iterdir()
            return [SFTPAttributes.from_stat(each.lstat(), each.name) for each in found]

        return answer(listed)

    def stat(self, path: str) -> SFTPAttributes | int:
        return answer(lambda: SFTPAttributes.from_stat(self._shelf.place(path).stat()))

    def lstat(self, path: str) -> SFTPAttributes | int:
        return answer(lambda: SFTPAttributes.from_stat(self._shelf.place(path).lstat()))

    def open(self, path: str, flags: int, attr: SFTPAttributes) -> paramiko.SFTPHandle | int:
        handle = answer(lambda: Handle(self._shelf, self._shelf.place(path), flags))
        if isinstance(handle, Handle):
            self._opened.append(handle)
        return handle

    def remove(self, path: str) -> int:
        return done(lambda: self._shelf.place(path).unlink())

    def rename(self, oldpath: str, newpath: str) -> int:
        """As OpenSSH does it: never over a file that is there."""
        is_there = isinstance(self.lstat(newpath), SFTPAttributes)
        return SFTP_FAILURE if is_there else self._replace(oldpath, newpath)

    def posix_rename(self, oldpath: str, newpath: str) -> int:
        if not self._shelf.knows_posix_rename:
            return SFTP_OP_UNSUPPORTED
        return self._replace(oldpath, newpath)

    def _replace(self, oldpath: str, newpath: str) -> int:
        return done(lambda: self._shelf.place(oldpath).replace(self._shelf.place(newpath)))

    def mkdir(self, path: str, attr: SFTPAttributes) -> int:
        return done(lambda: self._shelf.place(path).mkdir())

    def rmdir(self, path: str) -> int:
        return done(lambda: self._shelf.place(path).rmdir())

    def chattr(self, path: str, attr: SFTPAttributes) -> int:
        return done(lambda: paramiko.SFTPServer.set_file_attr(str(self._shelf.place(path)), attr))


class Handle(paramiko.SFTPHandle):
    """An open file; what is written to it is in the file before it is answered."""

    def __init__(self, shelf: Shelf, path: Path, flags: int) -> None:
        super().__init__(flags)
        self._shelf = shelf
        mode = "rb" if flags & os.O_ACCMODE == os.O_RDONLY else "r+b"
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
        self.readfile = self.writefile = os.fdopen(descriptor, mode, buffering=0)

    def write(self, offset: int, data: Buffer) -> int:
        if self._shelf.refuses(offset + memoryview(data).nbytes):
            return SFTP_FAILURE
        return super().write(offset, data)

    def read(self, offset: int, length: int) -> bytes | int:
        given = self._shelf.gives_back
        return super().read(offset, length) if given is None else given[offset : offset + length]

    def stat(self) -> SFTPAttributes | int:
        return answer(lambda: SFTPAttributes.from_stat(os.fstat(self.readfile.fileno())))


def answer(question: Callable[[], T]) -> T | int:
    """Its result, or the number of its error in SFTP."""
    try:
        return question()
    except OSError as error:
        return paramiko.SFTPServer.convert_errno(error.errno or 0)


def done(action: Callable[[], object]) -> int:
    result = answer(action)
    return result if isinstance(result, int) else SFTP_OK
