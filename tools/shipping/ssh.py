"""The way to the receiving node: over a proxy and a jump host, to a host whose key we know.

Promise: only hosts whose key stands in our own known_hosts are spoken to, and no other key is ever
accepted by itself. Errors say what to do next: `Unavailable` may pass by itself, `Unreachable`
needs a human. No secret is in any of them.
"""

from __future__ import annotations

import logging
import re
import socket
import stat
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn
from urllib.parse import SplitResult, unquote, urlsplit

import paramiko
import socks

from ..errors import HarvestError, Unavailable, Unreachable
from .settings import PASSPHRASE_VARIABLE, TransportSettings

logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # what matters of it is in our errors

WINDOW = 2**27
LONGEST_HEAD = 2**14  # bytes of a proxy's answer
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
PROXY_TYPES = {
    "socks5": socks.SOCKS5,
    "socks5h": socks.SOCKS5,
    "socks4": socks.SOCKS4,
    "socks4a": socks.SOCKS4,
}


class Login:
    """A connection, open until it is closed."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self.place = f"{settings.user}@{settings.host}:{settings.port}"
        self._clients: list[paramiko.SSHClient] = []
        try:
            with self.translating("cannot be reached"):
                self.transport = _transport(self._connected())
        except BaseException:
            self.close()
            raise

    def _connected(self) -> paramiko.SSHClient:
        """Through the proxy, if there is one, and over the jump host, if there is one."""
        settings, key = self._settings, self._key()
        way: Any = None
        if settings.jump:
            jump = urlsplit(f"ssh://{settings.jump}")
            host, port = jump.hostname or "", jump.port or 22
            first = self._login(host, port, jump.username or "", key, self._tunnel(host, port))
            way = _transport(first).open_channel(
                "direct-tcpip",
                (settings.host, settings.port),
                ("127.0.0.1", 0),
                window_size=WINDOW,
                timeout=settings.timeout_s,
            )
        else:
            way = self._tunnel(settings.host, settings.port)
        return self._login(settings.host, settings.port, settings.user, key, way)

    def _tunnel(self, host: str, port: int) -> socket.socket | None:
        if not self._settings.proxy_url:
            return None
        proxy = urlsplit(self._settings.proxy_url)
        if proxy.scheme == "http":
            return tunnel_by_http(proxy, host, port, self._settings.timeout_s)
        tunnel: socket.socket = socks.create_connection(
            (host, port),
            timeout=self._settings.timeout_s,
            proxy_type=PROXY_TYPES[proxy.scheme],
            proxy_addr=proxy.hostname,
            proxy_port=proxy.port,
            proxy_rdns=proxy.scheme not in ("socks5", "socks4"),
            proxy_username=unquote(proxy.username) if proxy.username else None,
            proxy_password=unquote(proxy.password) if proxy.password else None,
        )
        return tunnel

    def _login(
        self, host: str, port: int, user: str, key: paramiko.PKey | None, way: Any
    ) -> paramiko.SSHClient:
        settings = self._settings
        client = paramiko.SSHClient()
        self._clients.append(client)
        client.load_host_keys(str(settings.known_hosts))
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        client.connect(
            host,
            port,
            user,
            sock=way,
            pkey=key,
            allow_agent=settings.agent,
            look_for_keys=False,
            timeout=settings.timeout_s,
            banner_timeout=settings.timeout_s,
            auth_timeout=settings.timeout_s,
            channel_timeout=settings.timeout_s,
            transport_factory=_fast_transport,
        )
        return client

    def _key(self) -> paramiko.PKey | None:
        file = self._settings.key_file
        if file is None:
            return None
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise Unreachable(f"{file} is a private key but others can read it: chmod 600 {file}")
        try:
            phrase: Any = self._settings.passphrase.encode() or None  # its types want a text
            key: paramiko.PKey = paramiko.PKey.from_path(file, phrase)
        except Exception as error:  # its text may hold what the file holds
            text = f"{file} cannot be used as a private key ({type(error).__name__})"
            raise Unreachable(f"{text}: check the file and {PASSPHRASE_VARIABLE}") from None
        return key

    def close(self) -> None:
        while self._clients:
            with suppress(Exception):
                self._clients.pop().close()

    @contextmanager
    def translating(self, what: str) -> Iterator[None]:
        try:
            yield
        except HarvestError:
            raise
        except (OSError, EOFError, paramiko.SSHException, ValueError) as error:
            self._judge(what, error)

    def _judge(self, what: str, error: Exception) -> NoReturn:
        """In one sentence, and by what to do next."""
        match error:
            case paramiko.BadHostKeyException():
                raise Unreachable(
                    f"{error.hostname} shows another host key than known_hosts holds: somebody may "
                    "be in between; nothing was sent. Compare the fingerprint on the node"
                ) from None
            case paramiko.AuthenticationException() | paramiko.PasswordRequiredException():
                raise Unreachable(f"{self.place} does not let us in: check user and key") from None
            case paramiko.SSHException() if "not found in known_hosts" in str(error):
                name = str(error).split("'")[1]  # it may be the jump host
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


def tunnel_by_http(proxy: SplitResult, host: str, port: int, timeout_s: float) -> socket.socket:
    """What follows the proxy's answer is SSH already: not one byte more than its head is read."""
    tunnel = socket.create_connection((proxy.hostname, proxy.port or 80), timeout_s)
    try:
        lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
        if proxy.username:
            login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {b64encode(login.encode()).decode()}")
        tunnel.sendall("\r\n".join([*lines, "", ""]).encode())
        head, deadline = b"", time.monotonic() + timeout_s
        while not head.endswith(b"\r\n\r\n"):
            byte = tunnel.recv(1)
            head += byte
            if not byte or len(head) > LONGEST_HEAD or time.monotonic() > deadline:
                raise socks.ProxyConnectionError("no answer")
        if not re.match(rb"HTTP/1\.[01] 2\d\d\b", head):
            raise socks.HTTPError("its answer is no")
    except BaseException:
        tunnel.close()
        raise
    return tunnel


def _fast_transport(sock: Any, **options: Any) -> paramiko.Transport:
    transport = paramiko.Transport(sock, default_window_size=WINDOW, **options)
    security = transport.get_security_options()
    others = [each for each in security.ciphers if each not in CIPHERS]
    security.ciphers = (*CIPHERS, *others)
    return transport


def _transport(client: paramiko.SSHClient) -> paramiko.Transport:
    transport = client.get_transport()
    if transport is None:
        raise paramiko.SSHException("the connection is closed")
    return transport


def _reason(error: Exception) -> str:
    if isinstance(error, socks.ProxyError):  # its text may hold what the proxy was told
        return f"the proxy does not help ({type(error).__name__})"
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        error = next(iter(error.errors.values()))  # one for each address; it has no reason itself
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()).rstrip(": ") or "the connection was cut off"
