"""Who may look at the page, and who may change anything by it.

Promise: without the token of this start nobody reads anything but the style; a page of somebody
else's can neither read (its host is not ours, our cookie stays at home) nor change anything (it
knows no header of ours). Secrets are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.requests import cookie_parser

HEADER = "x-sheaf-token"
BEARER = "bearer "
WEB_PORT = 80
TICKET_S = 30.0


@dataclass(frozen=True)
class Access:
    """Of one start. `hosts` are what a Host header may say; of one that listens everywhere also any
    number at `port`, since only names can be made to lead here. `is_secure`: only by https."""

    hosts: frozenset[str]
    port: int | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    is_read_only: bool = False
    is_secure: bool = False
    name: str = "sheaf"  # of the cookie: two servers on one computer share their cookies
    _tickets: dict[str, float] = field(default_factory=dict, repr=False)  # until when

    @property
    def session(self) -> str:
        """What the cookie holds: who sees it does not know the token."""
        return self._derived("session")

    @property
    def change(self) -> str:
        """What every change brings along in a header."""
        return self._derived("change")

    def knows_host(self, host: str) -> bool:
        return host.lower() in self.hosts or (self.port is not None and _is_at(host, self.port))

    def ticket(self) -> str:
        """Good once in the place of the token, and for a while: where a browser is led is kept in
        more places than one."""
        made = secrets.token_urlsafe(24)
        self._tickets[made] = time.monotonic() + TICKET_S
        return made

    def is_way_in(self, text: str) -> bool:
        return self.is_token(text) or self.is_ticket(text)

    def is_ticket(self, text: str) -> bool:
        return time.monotonic() < self._tickets.get(text, 0.0)

    def let_in(self, text: str) -> None:
        self._tickets.pop(text, None)

    def is_token(self, text: str) -> bool:
        return _same(text, self.token)

    def may_look(self, headers: Mapping[str, str]) -> bool:
        return self.is_program(headers) or _same(self._cookie(headers), self.session)

    def is_program(self, headers: Mapping[str, str]) -> bool:
        """One that brings the token itself, which no browser does by itself."""
        said = headers.get("authorization", "")
        return said[: len(BEARER)].lower() == BEARER and self.is_token(said[len(BEARER) :].strip())

    def may_change(self, headers: Mapping[str, str]) -> bool:
        """Of somebody who may look."""
        if self.is_read_only:
            return False
        if self.is_program(headers):
            return True
        is_ours = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return is_ours and _same(headers.get(HEADER, ""), self.change)

    def cookie(self) -> str:
        kind = "; Secure" if self.is_secure else ""
        return f"{self.name}={self.session}; HttpOnly; SameSite=Strict; Path=/{kind}"

    def _cookie(self, headers: Mapping[str, str]) -> str:
        """Beside those of other servers of this computer, whatever these look like."""
        return cookie_parser(headers.get("cookie", "")).get(self.name, "")

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _is_at(host: str, port: int) -> bool:
    """An address in numbers, with this port unless that is the web's.

    >>> _is_at("192.0.2.7:80", 80), _is_at("[fd00::7]", 80), _is_at("evil.example:80", 80)
    (True, True, False)
    """
    bare = host.removesuffix(f":{port}")
    if bare == host and port != WEB_PORT:
        return False
    try:
        return bool(ipaddress.ip_address(bare.removeprefix("[").removesuffix("]")))
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
