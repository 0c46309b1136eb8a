"""A way to the receiving node: one login, SFTP over it, and commands where they may be run.

Promise: only hosts whose key stands in our own known_hosts are spoken to, and no other key is ever
accepted by itself. Errors say what to do next: `Unavailable` may pass by itself, `Unreachable`
needs a human. No secret is in any of them.
"""

from __future__ import annotations

import logging
import socket
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import paramiko
import socks
from paramiko.sftp import SFTPError

from ..base.text import one_line
from ..errors import HarvestError, Unavailable, Unreachable
from .pipeline import Requests
from .settings import PASSPHRASE_VARIABLE, TransportSettings

logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # what matters of it is in our errors

CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
MOST_TEXT = 2**20  # bytes of what a command says, or of a small file that is read


class OtherHostKey(paramiko.SSHException):
    """Than known_hosts holds."""


class Way(ABC):
    """Open until it is closed; used by one thread."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self.place = f"{settings.user}@{settings.host}:{settings.port}"

    @abstractmethod
    def sftp(self) -> Requests: ...

    @abstractmethod
    def run(self, command: str, seconds: float) -> bytes:
        """What it says: nothing where no command may be run."""

    @abstractmethod
    def close(self) -> None:
        """Whoever waits for the node meanwhile, in another thread, is woken; twice does no harm."""

    @contextmanager
    def translating(self, what: str) -> Iterator[None]:
        try:
            yield
        except HarvestError:
            raise
        except (OSError, EOFError, paramiko.SSHException, SFTPError, ValueError) as error:
            self._judge(what, error)

    def _judge(self, what: str, error: Exception) -> NoReturn:
        """In one sentence, and by what to do next."""
        match error:
            case paramiko.BadHostKeyException() | OtherHostKey():
                name = getattr(error, "hostname", self._settings.host)  # it may be the jump host
                raise Unreachable(
                    f"{name} shows another host key than known_hosts holds: somebody may "
                    "be in between; nothing was sent. Compare the fingerprint on the node"
                ) from None
            case paramiko.AuthenticationException() | paramiko.PasswordRequiredException():
                raise Unreachable(f"{self.place} does not let us in: check user and key") from None
            case paramiko.SSHException() if "not found in known_hosts" in str(error):
                name = str(error).split("'")[1]
                raise Unreachable(
                    f"the host key of {name} does not stand in {self._settings.known_hosts}: "
                    f"nothing was sent. Add it, as {name}"
                ) from None
            case FileNotFoundError() | PermissionError() if error.filename is not None:
                raise Unreachable(f"cannot read {error.filename}: {error.strerror}") from None
            case PermissionError():
                raise Unreachable(f"{self.place} {what}: {error.strerror}") from None
            case paramiko.ssh_exception.NoValidConnectionsError() | socket.gaierror():
                raise Unavailable(
                    f"{self.place} {what} ({_reason(error)}): see whether it is running, and "
                    "whether host and port are right"
                ) from None
            case TimeoutError():
                text = f"nothing arrived for {self._settings.timeout_s:.0f} s"
                raise Unavailable(f"{self.place} {what}: {text}") from None
        raise Unavailable(f"{self.place} {what}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, socks.ProxyError):  # its text may hold what the proxy was told
        return f"the proxy does not help ({type(error).__name__})"
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        error = next(iter(error.errors.values()))  # one for each address; it has no reason itself
    if isinstance(error, paramiko.SSHException) and isinstance(error.__context__, EOFError):
        error = error.__context__  # the same end, seen by whoever waited for an answer
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return one_line(str(error)).rstrip(": ") or "the connection was cut off"


def private_key(settings: TransportSettings) -> paramiko.PKey | None:
    file = settings.key_file
    if file is None:
        return None
    if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Unreachable(f"{file} is a private key but others can read it: chmod 600 {file}")
    try:
        phrase: Any = settings.passphrase.encode() or None  # its types want a text
        key: paramiko.PKey = paramiko.PKey.from_path(file, phrase)
    except Exception as error:  # its text may hold what the file holds
        text = f"{file} cannot be used as a private key ({type(error).__name__})"
        raise Unreachable(f"{text}: check the file and {PASSPHRASE_VARIABLE}") from None
    return key


def known_name(host: str, port: int) -> str:
    """As it stands in known_hosts."""
    return host if port == paramiko.config.SSH_PORT else f"[{host}]:{port}"
