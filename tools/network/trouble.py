"""Why a host gave no answer, or one of no use: in a word for programs and in a sentence.

`NoAnswer` is worth another try: its word tells whether the host is to be left alone meanwhile.
`NoUse` is the same at every try.
"""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import requests
import socks
import urllib3

from ..base.why import Why
from ..errors import GiveUp, ServerTrouble
from ..proxy import without_password

NO_ADDRESSES = (requests.exceptions.InvalidURL, urllib3.exceptions.LocationValueError)
NETWORK_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
)
UNKNOWN_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL)


FOR_GOOD = frozenset({Why.UNKNOWN_NAME, Why.CERTIFICATE})


class NoAnswer(ServerTrouble):
    def __init__(self, reason: str, why: Why) -> None:
        super().__init__(reason)
        self.why = why


class NoUse(GiveUp):
    def __init__(self, reason: str, why: Why) -> None:
        super().__init__(reason)
        self.why = why


def failure(host: str, error: BaseException) -> NoAnswer | NoUse:
    """What the network said, as what to do next."""
    why = why_of(error)
    kind = NoUse if why in FOR_GOOD else NoAnswer
    return kind(f"{host}: {why} ({cause_of(error)})", why)


def why_of(error: BaseException) -> Why:
    """Whatever stands between it and what has happened."""
    return _why(root_of(error))


def _why(error: BaseException) -> Why:
    for kinds, why in (
        (ssl.SSLCertVerificationError, Why.CERTIFICATE),
        (TimeoutError, Why.SILENT),
        (ssl.SSLError, Why.TLS),
        (ConnectionRefusedError, Why.REFUSED),
        (ConnectionError, Why.RESET),
        (http.client.IncompleteRead, Why.SHORT),
        ((http.client.HTTPException, ValueError), Why.GARBLED),
    ):
        if isinstance(error, kinds):
            return why
    if isinstance(error, socket.gaierror):
        return Why.UNKNOWN_NAME if error.errno in UNKNOWN_NAME else Why.NAME
    return Why.UNREACHABLE if getattr(error, "errno", None) in NO_WAY else Why.RESET


def is_the_proxys(error: BaseException) -> bool:
    """Is it the proxy that cannot be used? It may also have told that it cannot reach the host."""
    chain = list(_chain(error))
    told = next((str(each) for each in chain if "Tunnel connection failed" in str(each)), "")
    if told:
        return " 407" in told
    if any(isinstance(each, socks.SOCKS5AuthError | socks.ProxyConnectionError) for each in chain):
        return True
    if any(isinstance(each, TimeoutError) for each in chain):
        return any(isinstance(each, urllib3.exceptions.ConnectTimeoutError) for each in chain) and (
            not any(isinstance(each, socks.ProxyError) for each in chain)
        )
    hosts = (socks.SOCKS5Error, socks.SOCKS4Error, ssl.SSLCertVerificationError)
    return not any(isinstance(each, hosts) for each in chain)


def cause_of(error: BaseException) -> str:
    """The innermost reason in a few words, without addresses that may hold a password."""
    error = root_of(error)
    if isinstance(error, TimeoutError):
        return "no complete answer in time"
    return f"{type(error).__name__}: {error}"[:200] if str(error) else type(error).__name__


def root_of(error: BaseException) -> BaseException:
    return list(_chain(error))[-1]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def shown(url: str) -> str:
    """An address for people, without what may be secret in it."""
    try:
        return without_password(url) + urlsplit(url).path
    except ValueError:
        return "one that cannot be read"
