"""What a host is asked, down to its bytes, and what to ask where an answer sends us.

Promise: no string from outside adds a header or a second request; secrets go only to the host they
are meant for, and never from a safe connection to one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from ..errors import GiveUp, UsageError
from .guard import host_of, origin_of
from .response import Response

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPS_METHOD = frozenset({307, 308})
TO_ANYBODY = frozenset({"accept", "accept-language", "user-agent"})
OF_A_BODY = frozenset({"content-type", "content-language"})
OURS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
NOT_IN_A_TARGET = re.compile(r"[^\x21-\x7e]")
LEFT_OUT = re.compile(r"[\t\r\n]")  # by every browser
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class Request:
    """Of one address; with a body it needs a Content-Type among its headers."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


class Ask(Protocol):
    def __call__(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None
    ) -> Response: ...


def followed(ask: Ask, request: Request) -> Response:
    """The first answer that sends us nowhere else."""
    for _ in range(MAX_REDIRECTS + 1):
        response = ask(request.method, request.url, headers=request.headers, body=request.body)
        if response.status not in REDIRECTS:
            return response
        request = redirected(request, response)
    raise GiveUp("redirected too often")


def redirected(request: Request, response: Response) -> Request:
    """What to ask instead. A POST becomes a GET unless the answer says that it stays one."""
    url = target_of(request.url, response.header("Location"))
    if not is_as_safe(request.url, url):
        kept = {name: value for name, value in request.headers.items() if _is_public(name)}
        request = replace(request, headers=kept)
    if response.status in KEEPS_METHOD or request.method in ("GET", "HEAD"):
        return replace(request, url=url)
    headers = {name: value for name, value in request.headers.items() if not _is_of_body(name)}
    return Request("GET", url, headers)


def _is_public(name: str) -> bool:
    return name.lower() in TO_ANYBODY | OF_A_BODY


def _is_of_body(name: str) -> bool:
    return name.lower() in OF_A_BODY


def target_of(url: str, location: str) -> str:
    """Where a redirect leads; GiveUp if that is nowhere."""
    try:
        target = urljoin(url, location) if location else ""
        host_of(target)
    except ValueError:
        raise GiveUp("redirected to what is no web address") from None
    return target


def is_as_safe(url: str, target: str) -> bool:
    """May it get what the other got: is it the same host, asked as safely?"""
    is_less_safe = urlsplit(url).scheme == "https" != urlsplit(target).scheme
    return host_of(url) == host_of(target) and not is_less_safe


def referer(page: str, target: str) -> str | None:
    """What the target may be told of the page that names it.

    >>> referer("https://me:pw@a.example/x?y#z", "https://b.example/")
    'https://a.example/x?y'
    >>> referer("https://a.example/x", "http://b.example/")
    """
    parts, there = urlsplit(page), urlsplit(target)
    if {parts.scheme, there.scheme} - {"http", "https"}:
        return None
    if parts.scheme == "https" != there.scheme:
        return None
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def target_in(url: str) -> str:
    """What stands behind the host, as it is sent.

    >>> target_in("http://me@a.example?ä b#top"), target_in("http://a.example/x%20y?z")
    ('/?%C3%A4%20b', '/x%20y?z')
    """
    url = url.partition("#")[0]
    if NOT_IN_A_TARGET.search(url):
        url = quote(LEFT_OUT.sub("", url).strip(), safe=PRINTABLE)
    scheme, host = origin_of(url)
    target = url[len(scheme) + len("://") + len(host) :]
    return target if target[:1] == "/" else f"/{target}"


def head_of(request: Request, host: str) -> bytes:
    """The line and the headers of a request to this host."""
    if not TOKEN.fullmatch(request.method):
        raise UsageError(f"{request.method!r} is no method of HTTP")
    lines = f"{request.method} {target_in(request.url)} HTTP/1.1\r\nHost: {host}\r\n"
    lines += _lines(tuple(request.headers.items()))
    if request.body is not None or request.method in ("POST", "PUT", "PATCH"):
        lines += f"Content-Length: {len(request.body or b'')}\r\n"
    return f"{lines}\r\n".encode("latin-1")


@lru_cache(maxsize=64)
def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    """Most requests of a harvest have the same."""
    for name, value in headers:
        if not TOKEN.fullmatch(name) or not VALUE.fullmatch(value) or name.lower() in OURS:
            raise GiveUp(f"the header {name[:50]!r} cannot be sent")
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
