"""Where the client may go.

Promise: whatever a page, a provider or a redirect says, a connection leads to port 80 or 443 of a
public address, and to an address that was checked: a name is looked up once for each connection.
Only hosts that the settings name are exempt, each on its own port.

Limit: through a proxy it is the proxy that looks names up. They are looked up here as well, and
what is not public here is not asked for there.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from urllib3.util.connection import allowed_gai_family

from ..errors import GiveUp, ServerTrouble, UsageError

WEB_PORTS = (80, 443)
PROXIED_NAMES_HOLD_S = 60.0
MOST_PROXIED_NAMES = 1000
PLAIN = re.compile(r"(https?)://([0-9A-Za-z.:-]+)(?=[/?#]|\Z)")
NOT_IN_A_HOST = re.compile(r"[\x00-\x20\x7f\\]")  # where parsers differ about what the host is

GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
NAT64 = ipaddress.ip_network("64:ff9b::/96")
RESERVED = (  # Python calls some of these global
    *map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/4", "240.0.0.0/4")),
    *map(ipaddress.ip_network, ("2001::/23", "2001:db8::/32", "3fff::/20")),
)

Options = Sequence[tuple[int, int, int | bytes]]


class Address(NamedTuple):
    """One of those a name has."""

    family: int
    target: tuple[str, int]  # with two more numbers in IPv6

    @property
    def ip(self) -> str:
        return self.target[0]


class Guard:
    """Knows whom we may ask. Any number of threads may share one."""

    def __init__(self, trusted: Collection[str]) -> None:
        self._trusted = set(map(host_named, trusted))
        self._public_until: dict[str, float] = {}

    def trust(self, host: str) -> None:
        """The user has named this one, too, with its port unless that is the web's."""
        self._trusted.add(host_named(host))

    def trusts(self, host: str, port: int) -> bool:
        return host_key(host, port) in self._trusted

    def addresses(self, host: str, port: int) -> list[Address]:
        """Where to connect to. A name without an address is an OSError, as ever."""
        _require_web_port(host, port)
        found = _look_up(host, port)
        public = [each for each in found if is_public(each.ip)]
        if not public:
            raise _refusal(host, found[0].ip)
        return public

    def require_public(self, host: str, port: int) -> None:
        """Of a host that a proxy will look up: all its addresses must be public."""
        if self.trusts(host, port):
            return
        _require_web_port(host, port)
        now = time.monotonic()
        if self._public_until.get(host, 0.0) > now:
            return
        for each in _look_up_for_a_proxy(host, port):
            if not is_public(each.ip):
                raise _refusal(host, each.ip)
        if len(self._public_until) >= MOST_PROXIED_NAMES:
            self._public_until.clear()
        self._public_until[host] = now + PROXIED_NAMES_HOLD_S


def host_key(host: str, port: int | None) -> str:
    """A host as limits, rests and trust know it: with its port unless that is the web's.

    >>> host_key("Example.org.", 443), host_key("127.0.0.1", 8084), host_key("::1", 80)
    ('example.org', '127.0.0.1:8084', '[::1]')
    """
    name = f"[{host.lower()}]" if ":" in host else host.lower().rstrip(".")
    return name if port is None or port in WEB_PORTS else f"{name}:{port}"


def host_named(netloc: str) -> str:
    """
    >>> host_named("Example.org:80"), host_named("localhost:9000")
    ('example.org', 'localhost:9000')
    """
    try:
        if set(netloc) & set("/@?#"):
            raise ValueError("more than a host")
        return host_of(f"http://{netloc}")
    except ValueError:
        raise UsageError(
            f"{netloc!r} is no host: write it like example.org or 10.0.0.1:8080"
        ) from None


def host_of(url: str) -> str:
    """The host of a web address; ValueError if it is none.

    >>> host_of("https://me:secret@Example.org:8443/path")
    'example.org:8443'
    """
    return _host_in(*origin_of(url))


def origin_of(url: str) -> tuple[str, str]:
    """Scheme and host, with its port and what else stands there; most are plain to see.

    >>> origin_of("http://a.example:8084/c/en/dog?limit=1"), origin_of("HTTP://me@[::1]")
    (('http', 'a.example:8084'), ('http', 'me@[::1]'))
    """
    if plain := PLAIN.match(url):
        return plain[1], plain[2]
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


@lru_cache(maxsize=256)
def _host_in(scheme: str, netloc: str) -> str:
    parts = urlsplit(f"//{netloc}")
    host, port = parts.hostname, parts.port
    if scheme not in ("http", "https") or not host or port == 0:
        raise ValueError("no web address")
    if NOT_IN_A_HOST.search(netloc):
        raise ValueError("a character no host has")
    return host_key(host if host.isascii() else host.encode("idna").decode(), port)


def is_public(ip: str) -> bool:
    """
    >>> is_public("93.184.216.34"), is_public("::ffff:10.0.0.1"), is_public("64:ff9b::7f00:1")
    (True, False, False)
    """
    address = _innermost(ipaddress.ip_address(ip))
    if any(address in each for each in RESERVED):
        return False
    return address.is_global and (address.version == 4 or address in GLOBAL_UNICAST)


def connect(addresses: Sequence[Address], timeout: float, options: Options) -> socket.socket:
    """To the first that lets us. Each has its share of the time, so that none takes all of it."""
    deadline = time.monotonic() + timeout
    for number, address in enumerate(addresses, 1):
        share = (deadline - time.monotonic()) / (len(addresses) - number + 1)
        try:
            return open_socket(address, max(share, 0.001), options)
        except OSError:
            if number == len(addresses):
                raise
    raise OSError("no address to connect to")


def open_socket(address: Address, timeout: float, options: Options) -> socket.socket:
    opened = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        for option in options:
            opened.setsockopt(*option)
        opened.settimeout(timeout)
        opened.connect(address.target)
    except BaseException:
        opened.close()
        raise
    return opened


def _look_up(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, allowed_gai_family(), socket.SOCK_STREAM)
    except UnicodeError:  # an empty or endless label
        raise GiveUp(f"no web address: {host[:100]} is no name") from None
    if not found:
        raise OSError(f"{host} has no address")
    return [Address(family, target) for family, _, _, _, target in found]  # type: ignore[arg-type]


def _look_up_for_a_proxy(host: str, port: int) -> list[Address]:
    """Who cannot be looked up may be known to the proxy alone, and be anybody."""
    try:
        return _look_up(host, port)
    except OSError as error:
        sentence = (
            f"{host} has no address here, so it may be a private one of the proxy's; "
            f"if it may be asked, name {host_key(host, port)} in http.private_hosts"
        )
        if getattr(error, "errno", None) == socket.EAI_AGAIN:
            raise ServerTrouble(sentence) from error
        raise GiveUp(sentence) from error


def _innermost(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _require_web_port(host: str, port: int) -> None:
    if port not in WEB_PORTS:
        raise GiveUp(
            f"{host} is to be asked on port {port}, but only 80 and 443 are; "
            f"if it may be, name {host_key(host, port)} in http.private_hosts"
        )


def _refusal(host: str, ip: str) -> GiveUp:
    verb = "is" if host == ip else "leads to"
    return GiveUp(f"{host} {verb} a private address" + ("" if host == ip else f" ({ip})"))
