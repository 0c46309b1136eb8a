"""Where media and full files of archives go every few hours, and how. Without a host they stay."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from ..base.bounds import DAY_S, bounded, require, require_one_of
from ..base.credentials import one_secret
from ..network.settings import PROXY_SCHEMES, require_proxy

PASSPHRASE_VARIABLE = "SHEAF_TRANSPORT_PASSPHRASE"  # noqa: S105
PROXY_VARIABLE = "SHEAF_TRANSPORT_PROXY"
SECRET_VARIABLE = "SHEAF_TRANSPORT_SECRET"  # noqa: S105
AUTO, PROGRAM, PARAMIKO = "auto", "program", "paramiko"
"""Who speaks SSH."""
SENDER = re.compile(r"(?!(?:before-)?[0-9a-f]{8}(?:[-/]|$))[a-z0-9][a-z0-9-]{0,31}")
"""The name of a sender among several; not what a batch or a harvest may be called on the node."""
TUNNEL_SCHEMES = tuple(each for each in PROXY_SCHEMES if each != "https")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    host: str = ""
    port: int = bounded(22, above=0, most=65_535)
    user: str = ""
    key_file: Path | None = None
    agent: bool = False
    known_hosts: Path | None = None
    folder: str = ""
    sender: str = ""
    volume_mb: float = bounded(500.0, above=0, most=10**6)
    every_hours: float = 3.0
    proxy: str = ""
    jump: str = ""
    ssh: str = AUTO
    connections: int = bounded(2, above=0, most=100)
    outbox_mb: float = bounded(10_000.0, above=0, most=10**12)
    timeout_s: float = bounded(30.0, above=0, most=DAY_S)
    receipt_s: float = bounded(180.0, least=0, most=DAY_S)
    erase_archives: bool = False
    secret_file: Path | None = None
    passphrase: str = field(default="", repr=False)  # of the private key; not from TOML,
    proxy_url: str = field(default="", repr=False)  # and so are these two
    secret: str = field(default="", repr=False)  # that both ends sign with

    @property
    def times(self) -> str:
        """On the hour or within it, as in a crontab."""
        if self.every_hours < 1:
            return f"*/{int(60 * self.every_hours)} * * * *"
        return f"0 */{int(self.every_hours)} * * *" if self.every_hours < 24 else "0 0 * * *"

    def place(self, folder: str) -> str:
        """On the node: of raw, received or archive what is ours."""
        # The folder of all may be the root of a chroot.
        own = f"/{self.sender}" if self.sender else ""
        return f"{self.folder.rstrip('/')}/{folder}{own}"

    def with_secrets(self) -> TransportSettings:
        return replace(
            self,
            passphrase=one_secret(PASSPHRASE_VARIABLE),
            proxy_url=one_secret(PROXY_VARIABLE).strip() or self.proxy,
            secret=one_secret(SECRET_VARIABLE, self.secret_file),
        )

    def check(self, where: str) -> None:
        is_whole = self.every_hours.is_integer() and 1 <= self.every_hours <= 24
        sentence = f"{where}every_hours must be a whole number from 1 to 24, or 0.25 or 0.5"
        require(is_whole or self.every_hours in (0.25, 0.5), sentence)
        if self.host:
            self._check_node(where)
            self._check_way(where)
        else:
            has_more = any((self.user, self.folder, self.key_file, self.sender))
            require(not has_more, f"{where}host is missing: without it media stay here")

    def _check_node(self, where: str) -> None:
        for name in ("user", "known_hosts", "folder"):
            require(bool(getattr(self, name)), f"{where}{name} is missing")
        has_key = self.agent or self.key_file is not None
        require(has_key, f"{where}key_file is missing: a private key, or agent = true")
        is_name = not self.sender or SENDER.fullmatch(self.sender) is not None
        sentence = "must be up to 32 of a-z, 0-9 and -, and not begin like the name of a batch"
        require(is_name, f"{where}sender {sentence}")

    def _check_way(self, where: str) -> None:
        sentence = f"a password stands in {PROXY_VARIABLE}"
        require("@" not in self.proxy, sentence, f"{where}proxy")
        if self.proxy_url:
            require_proxy(f"{where}proxy", self.proxy_url, TUNNEL_SCHEMES)
        require_one_of(f"{where}ssh", self.ssh, (AUTO, PROGRAM, PARAMIKO))
        others = {
            "a proxy": self.proxy_url,
            "a jump host": self.jump,
            "a passphrase": self.passphrase,
        }
        for what, value in others.items() if self.ssh == PROGRAM else ():
            require(not value, f'{what} is for ssh = "auto" or "paramiko"', f"{where}ssh")
        if self.jump:
            require(_is_login(self.jump), f"{where}jump must be like user@host:port")


def _is_login(text: str) -> bool:
    try:
        parts = urlsplit(f"ssh://{text}")
        return bool(parts.username and parts.hostname) and parts.port != 0 and not parts.path
    except ValueError:
        return False
