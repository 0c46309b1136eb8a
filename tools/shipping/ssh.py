"""The way to the receiving node by paramiko: through a proxy and over a jump host, if need be."""

from __future__ import annotations

import re
import socket
import time
from base64 import b64encode
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import paramiko
import socks

from .pipeline import Requests
from .settings import TransportSettings
from .way import CIPHERS, MOST_TEXT, Way, private_key

WINDOW = 2**27
LONGEST_HEAD = 2**14  # bytes of a proxy's answer
PROXY_TYPES = {
    "socks5": socks.SOCKS5,
    "socks5h": socks.SOCKS5,
    "socks4": socks.SOCKS4,
    "socks4a": socks.SOCKS4,
}


class Login(Way):
    """One connection, for files and commands."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings)
        self._clients: list[paramiko.SSHClient] = []
        try:
            with self.translating("cannot be reached"):
                self._transport = _transport(self._connected())
        except BaseException:
            self.close()
            raise

    def _connected(self) -> paramiko.SSHClient:
        """Through the proxy, if there is one, and over the jump host, if there is one."""
        settings, key = self._settings, private_key(self._settings)
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

    def sftp(self) -> Requests:
        with self.translating("offers no SFTP"):
            opened: Any = Requests.from_transport(self._transport, WINDOW)
            opened.get_channel().settimeout(self._settings.timeout_s)
            found: Requests = opened
            return found

    def run(self, command: str, seconds: float) -> bytes:
        try:
            session = self._transport.open_session(timeout=self._settings.timeout_s)
        except paramiko.ChannelException:
            return b""
        with session:
            session.settimeout(seconds)
            try:
                session.exec_command(command)
            except paramiko.SSHException:
                if self._transport.is_active():
                    return b""
                raise
            session.shutdown_write()  # where SFTP is forced upon every command, it ends by this
            said: bytes = session.makefile("rb").read(MOST_TEXT)
            return said

    def close(self) -> None:
        while self._clients:
            with suppress(Exception):
                self._clients.pop().close()


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
