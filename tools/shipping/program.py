"""The way to the receiving node by the program `ssh`: it encrypts in a process of its own, beside
our interpreter's lock.

Promise: it reads no settings, keys or known hosts but ours, asks nobody anything, and no secret is
on its command line. It ends with us, however we end: its input is a socket whose other end only we
have, and on a dead line it gives up by itself.
Limit: proxies, jump hosts and passphrases are paramiko's (`ssh.py`). A command has a connection of
its own.
"""

from __future__ import annotations

import math
import os
import re
import select
import shutil
import socket
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import IO, Any, cast

import paramiko
from paramiko.ssh_exception import NoValidConnectionsError

from ..base.text import one_line
from ..errors import Unavailable, Unreachable
from .pipeline import Requests
from .settings import AUTO, PROGRAM, TransportSettings
from .way import CIPHERS, MOST_TEXT, OtherHostKey, Way, known_name, private_key

NAME = "ssh"
END_S = 2.0  # to end by itself, and to tell why it has
LOOK_EVERY_S = 0.002
BUFFER = 2**20
FAILED = 255  # its exit code when it was itself that failed
MOST_SAID = 2**16
OTHER_CIPHERS = ("chacha20-poly1305@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr")
SLOW_EXCHANGE = "-sntrup761x25519-*"
"""Is left out, as by paramiko: it costs both ends more than all else that a connection does."""
INHERITED = ("HOME", "PATH", "SSH_AUTH_SOCK")
UNQUOTABLE = re.compile(r'["\\$\n]')  # in its settings
CUT = re.compile(r"Connection (closed|reset|to .* closed)|Broken pipe|disconnect", re.IGNORECASE)


def is_meant(settings: TransportSettings) -> bool:
    """Where it would do the same as paramiko, or is asked for."""
    if settings.ssh != AUTO:
        return settings.ssh == PROGRAM
    files = [each for each in (settings.key_file, settings.known_hosts) if each is not None]
    is_plain = not any(UNQUOTABLE.search(str(each)) for each in files)
    is_other = settings.proxy_url or settings.jump or settings.passphrase
    return is_plain and not is_other and shutil.which(NAME) is not None


class Session:
    """One `ssh` at work. What it reads and writes is one socket, so that waiting has an end."""

    def __init__(self, words: list[str], seconds: float) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        self.settimeout(seconds)
        self._has_answered = False
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603  # no shell, and no word is a flag
                    words,
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=subprocess.PIPE,
                    env={name: os.environ[name] for name in INHERITED if name in os.environ},
                    start_new_session=True,  # Ctrl-C is for us; and no terminal to ask at
                )
            except BaseException:
                self._socket.close()
                raise

    def get_name(self) -> str:
        """For paramiko's log."""
        return NAME

    def settimeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def send(self, data: bytes) -> int:
        try:
            return self._socket.send(data)
        except TimeoutError:
            raise
        except OSError:
            raise self._cause() or EOFError from None

    def recv(self, size: int) -> bytes:
        """Nothing is the end."""
        try:
            data = self._socket.recv(size)
        except ConnectionResetError:
            data = b""
        self._has_answered = self._has_answered or bool(data)
        if not data and (cause := self._cause()) is not None:
            raise cause
        return data

    def recv_by(self, deadline: float) -> bytes:
        self.settimeout(max(deadline - time.monotonic(), 0.001))
        return self.recv(MOST_TEXT)

    def recv_ready(self) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def end_input(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes whoever waits
        self._socket.close()
        self._process.terminate()
        if not self._has_ended():
            self._process.kill()
            self._has_ended()  # so that none of its like is left
        cast(IO[bytes], self._process.stderr).close()

    def _has_ended(self) -> bool:
        deadline = time.monotonic() + END_S
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                return False
            Event().wait(LOOK_EVERY_S)
        return True

    def _cause(self) -> Exception | None:
        """Why it failed, if it did; what the node says there is not believed when we are in."""
        if not self._has_ended() or self._process.returncode < 0:  # by a signal
            return EOFError()
        if self._process.returncode != FAILED:
            return None
        errors, said = cast(IO[bytes], self._process.stderr).fileno(), b""
        os.set_blocking(errors, False)
        with suppress(BlockingIOError):
            said = os.read(errors, MOST_SAID)
        return EOFError() if self._has_answered else cause_of(said.decode(errors="replace"))


def cause_of(said: str) -> Exception:
    """The error that paramiko would have raised instead of these words.

    >>> cause_of("me@node: Permission denied (publickey).")
    AuthenticationException()
    >>> cause_of("ssh: connect to host node port 22: Connection timed out")
    TimeoutError()
    >>> cause_of("kex_exchange_identification: Connection closed by remote host")
    EOFError()
    """
    lines = [line for line in said.splitlines() if line.strip()]
    if "Host key verification failed" in said:
        return OtherHostKey()
    if "Permission denied (" in said or "Too many authentication failures" in said:
        return paramiko.AuthenticationException()
    if " request failed on channel" in said or " open failed: " in said:
        return paramiko.ChannelException(1, lines[-1])
    if "timed out" in said or "not responding" in said:
        return TimeoutError()
    if found := re.search(r"Could not resolve hostname .*?: (.+)", said):
        return socket.gaierror(0, found[1].strip())
    if found := re.search(r"connect to \S+ (\S+) port (\d+): (.+)", said):
        refused = OSError(0, found[3].strip())
        return NoValidConnectionsError({(found[1], int(found[2])): refused})
    return EOFError() if not lines or CUT.search(said) else paramiko.SSHException(lines[-1])


class Program(Way):
    """A connection for files, and one for each command while it is run."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings)
        self._session: Session | None = None
        with self.translating("cannot be reached"):
            private_key(settings)  # it says what is wrong with it, and ssh does not
            name = known_name(settings.host, settings.port)
            # ssh itself would also take a pattern, or the key that the host has at another port.
            self._is_known = paramiko.HostKeys(str(settings.known_hosts)).lookup(name) is not None
            self._words = words_for(settings, self._is_known)

    def sftp(self) -> Requests:
        """Its first answer may take as long as the connection and the login together."""
        seconds, words = self._settings.timeout_s, [*self._words, "-s", "--", self._settings.host]
        with self.translating("cannot be reached"):
            self._session = Session([*words, "sftp"], 2 * seconds)
            try:
                opened = Requests(cast(Any, self._session))
            except OtherHostKey:
                if self._is_known:
                    raise
                name = known_name(self._settings.host, self._settings.port)
                raise paramiko.SSHException(f"Server '{name}' not found in known_hosts") from None
            except paramiko.ChannelException as error:
                raise Unavailable(f"{self.place} offers no SFTP: {one_line(error.text)}") from None
            self._session.settimeout(seconds)
            return opened

    def run(self, command: str, seconds: float) -> bytes:
        words = [*self._words, "--", self._settings.host, command]
        deadline = time.monotonic() + seconds + 2 * self._settings.timeout_s  # with the login
        with closing(Session(words, seconds)) as session:
            session.end_input()  # where SFTP is forced upon every command, it ends by this
            said = b""
            with suppress(paramiko.ChannelException):  # it may run none
                while len(said) < MOST_TEXT and (more := session.recv_by(deadline)):
                    said += more
            return said

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def words_for(settings: TransportSettings, is_known: bool) -> list[str]:
    """The command, up to the host."""
    program = shutil.which(NAME)
    if program is None:
        raise Unreachable(
            f'there is no program {NAME} here: apt-get install openssh-client, or {NAME} = "auto" '
            "under [transport]"
        )
    said = [f"-o{name}={value}" for name, value in _options(settings, is_known).items()]
    whom = ["-p", str(settings.port), "-l", settings.user]
    return [program, "-F", "none", "-T", "-x", "-a", *said, *whom]


def _options(settings: TransportSettings, is_known: bool) -> dict[str, str]:
    """Everything that settings of this computer or user could decide otherwise is decided here."""
    seconds = math.ceil(settings.timeout_s)
    return {
        "BatchMode": "yes",
        "PreferredAuthentications": "publickey",
        "IdentityFile": _quoted(settings.key_file),
        "IdentitiesOnly": "no" if settings.agent else "yes",
        "IdentityAgent": "SSH_AUTH_SOCK" if settings.agent else "none",
        "UserKnownHostsFile": _quoted(settings.known_hosts if is_known else None),
        "GlobalKnownHostsFile": "/dev/null",
        "HostKeyAlias": known_name(settings.host, settings.port),
        "StrictHostKeyChecking": "yes",
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "ConnectTimeout": str(seconds),
        "ServerAliveInterval": str(seconds),
        "ServerAliveCountMax": "2",
        "Ciphers": ",".join((*CIPHERS, *OTHER_CIPHERS)),
        "KexAlgorithms": SLOW_EXCHANGE,
        "Compression": "no",
        "IPQoS": "none",
        "EscapeChar": "none",
        "LogLevel": "ERROR",
    }


def _quoted(path: Path | None) -> str:
    return "none" if path is None else '"' + str(path).replace("%", "%%") + '"'
