"""The key that an index of web addresses is sorted by: the host from its end, then path and query.

What differs without a difference is made equal: case, ports that go without saying, `www`, escapes,
the order of the query, ids of sessions. The rules are those that other tools of web archives have.

Limit: what is no web address, or a longer one than anybody follows, is its own key.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote_to_bytes

ADDRESS = re.compile(r"(https?)://([^/?#]*)([^?#]*)\??([^#]*)", re.IGNORECASE | re.DOTALL)
HOST = re.compile(r"(?:.*@)?(\[[^\]]*\]|[^:]*):?(\d*)", re.DOTALL)
WWW = re.compile(r"^www\d*\.(?=.)", re.ASCII)
LONGEST = 2**14
USUAL = {("http", 80), ("https", 443)}
ESCAPED = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
PLAIN = re.compile(r"[!\"$&-~]*")
IN_PATH = re.compile(
    r"(.*/)\((?:[a-z0-9]{24}|(?:[a-z]\([a-z0-9]{24}\))+)\)/([^?]+\.aspx.*)", re.ASCII | re.DOTALL
)
IN_QUERY = [
    re.compile(rf"(.*){session}(?:&(.*))?", re.ASCII | re.DOTALL)
    for session in (
        r"jsessionid=[0-9a-z]{32}",
        r"phpsessid=[0-9a-z]{32}",
        r"sid=[0-9a-z]{32}",
        r"aspsessionid[a-z]{8}=[a-z]{24}",
        r"cfid=[^&]+&cftoken=[^&]+",
    )
]


def surt(address: str) -> str:
    """
    >>> surt("https://user@www.Example.org:443/a/../B/?y=%41&x=1#top")
    'org,example)/b?x=1&y=a'
    >>> surt("http://[2001:db8::1]:8080/"), surt("http://127.0.0.1")
    ('2001:db8::1:8080)/', '1,0,0,127)/')
    """
    parts = ADDRESS.fullmatch(address.partition("#")[0])
    authority = HOST.fullmatch(parts[2]) if parts else None
    port = int(authority[2][:9] or 0) if authority else 0
    if parts is None or authority is None or port > 65535 or len(address) > LONGEST:
        return address
    is_told = port and (parts[1].lower(), port) not in USUAL
    query = _query(parts[4])
    return (
        f"{','.join(reversed(_host(authority[1]).split('.')))}{f':{port}' if is_told else ''})"
        f"{_path(parts[3])}{f'?{query}' if query else ''}"
    )


@lru_cache(maxsize=1024)
def _host(host: str) -> str:
    name = _plain(host).lower().strip("[]")
    name = WWW.sub("", re.sub(r"\.\.+", ".", name).strip("."))
    if name.strip("0123456789."):
        return name
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return name


def _path(path: str) -> str:
    segments: list[str] = []
    for segment in _plain(path).removeprefix("/").split("/"):
        if segment == ".." and segments:
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    text = f"/{'/'.join(segments)}/".lower()
    if "//" in text:
        text = re.sub("//+", "/", text)
    text = text[:-1] or "/"
    session = IN_PATH.fullmatch(text) if "(" in text else None
    return session[1] + session[2] if session else text


def _query(query: str) -> str:
    if not query:
        return ""
    text = _plain(query).lower()
    for pattern in IN_QUERY:
        if found := pattern.fullmatch(text):
            text = found[1] + (found[2] or "")
    return "&".join(sorted(text.split("&"), key=lambda pair: pair.split("=", 1)))


def _plain(text: str) -> str:
    """Unescaped as often as it was escaped, then escaped where that is needed."""
    if PLAIN.fullmatch(text):
        return text
    *_, last = _unescaped(text.encode("utf-8", "replace"))
    return ESCAPED.sub(lambda found: b"%%%02x" % ord(found[0]), last).decode("ascii")


def _unescaped(text: bytes) -> Iterator[bytes]:
    before = None
    while text != before:
        yield text
        before, text = text, unquote_to_bytes(text)
