"""How hosts are asked: patience, sizes, limits, and through which proxies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from ..base.bounds import DAY_S, bounded, is_web_address, require
from ..base.credentials import secret_lines

PROXIES_VARIABLE = "SHEAF_PROXIES"
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h", "socks4", "socks4a")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    contact: str = ""
    connect_timeout_s: float = bounded(10.0, above=0, most=DAY_S)
    answer_timeout_s: float = bounded(60.0, above=0, most=DAY_S)
    max_bytes: int = bounded(8_000_000, above=0, most=10**10)
    tries: int = bounded(4, above=0, most=100)
    private_hosts: tuple[str, ...] = ()
    limits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    file: Path | None = None
    ask: str = ""  # may hold a key: shown only without its query
    uses: int = bounded(100, above=0, most=10**9)
    urls: tuple[str, ...] = field(default=(), repr=False)  # may hold passwords; not from TOML

    def with_secrets(self) -> ProxySettings:
        return replace(self, urls=secret_lines(PROXIES_VARIABLE, self.file, ","))

    def check(self, where: str) -> None:
        for number, url in enumerate(self.urls, 1):
            require_proxy(f"{where.rstrip('.')} number {number}", url, PROXY_SCHEMES)
        if self.ask:
            require(is_web_address(self.ask), f"{where}ask must be like https://host/list")
            require(not self.urls, f"{where}ask and proxies of your own are set: leave one out")


def require_proxy(name: str, url: str, schemes: Sequence[str]) -> None:
    require(
        is_proxy(url, schemes),
        f"{name} must be like http://user:password@host:port and begin with one"
        f" of {', '.join(schemes)}; in a password / # ? [ are written %2F %23 %3F %5B",
    )


def is_proxy(url: str, schemes: Sequence[str]) -> bool:
    """An @ behind the host is half a password, and would be shown as part of the address."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and "@" not in parts.path + parts.query + parts.fragment
        return parts.scheme in schemes and whole and parts.port != 0
    except ValueError:
        return False
