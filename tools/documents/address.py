"""Addresses of pages as browsers read them, and which of them are one page.

Promise: whatever stands in a link, it becomes an address that can be asked for, or None; nothing
raises. Two addresses have one identity only if they differ in what no server should answer
differently.
Limit: a reference or base of more than 8,192 characters is no address: a page of many links would
take minutes on such a base.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import Self

from ada_url import URL, join_url, normalize_url
from publicsuffixlist import PublicSuffixList

LONGEST = 8192
WEB = ("http://", "https://")
SCHEMED = re.compile(r"[a-z][a-z0-9+.-]*://|https?:(?!\d)", re.IGNORECASE)

SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid)=[^;/]*", re.IGNORECASE)
SESSIONS = ("jsessionid", "phpsessid", "aspsessionid*", "cfid", "cftoken", "oscsid", "zenid")
CLICKS = (
    *("gclid", "gclsrc", "gbraid", "wbraid", "dclid", "_ga", "_gl", "srsltid", "fbclid", "igshid"),
    *("msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", "mc_cid", "mc_eid", "_hsenc"),
    *("_hsmi", "vero_id", "wickedid", "rb_clickid", "s_cid", "oly_anon_id", "oly_enc_id"),
)

# Where Python's codec is not called as the standard calls the encoding, or is another one.
CODECS = {
    "big5": "cp950",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
NO_ENCODER = ("utf-8", "utf-16le", "utf-16be", "replacement", "x-user-defined")
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
UNKNOWN = "xmlcharrefreplace"  # whose & and ; must not look like the query's own
ESCAPED = frozenset(b"\"#<>'&;") | frozenset(range(0x21)) | frozenset(range(0x7F, 0x100))


@dataclass(frozen=True, eq=False)
class DropParameters:
    """Parameters of a query that say who asks or whence he came, not what is asked for."""

    pattern: re.Pattern[str]

    @classmethod
    def named(cls, *names: str) -> Self:
        """A name may end in `*`; case does not matter."""
        either = "|".join(re.escape(name).replace(r"\*", "[^=&]*") for name in names)
        return cls(re.compile(rf"(?:^|&)(?:{either or '(?!)'})(?=[=&]|$)", re.IGNORECASE))

    def without(self, query: str) -> str:
        """
        >>> DEFAULT.without("utm_x&b=1&PHPSESSID=7&a=2"), DEFAULT.without("x=&&y")
        ('b=1&a=2', 'x=&&y')
        """
        if not self.pattern.search(query):
            return query
        return "&".join(part for part in query.split("&") if not self.pattern.match(part))


DEFAULT = DropParameters.named("utm_*", *SESSIONS, *CLICKS)


def resolve(base: str, reference: str, encoding: str = "utf-8") -> str | None:
    """The web address a reference on a page leads to, without fragment and credentials.

    >>> resolve("http://h.example/a/b.html", "../\\tc d#e")
    'http://h.example/c%20d'
    """
    if len(reference) > LONGEST or len(base) > LONGEST:
        return None
    if "?" in reference and not reference.isascii():
        reference = _with_query_in(encoding, reference)
    try:
        return _asked(join_url(base, reference))
    except ValueError:
        return None


def absolute(text: str) -> str | None:
    """An address that needs no page to stand on."""
    if len(text) > LONGEST:
        return None
    try:
        return _asked(normalize_url(text))
    except ValueError:
        return None


def as_seed(text: str) -> str | None:
    """What a user names as a page; without a scheme it is asked for by https.

    >>> as_seed("example.org/x"), as_seed("localhost:8080"), as_seed("somebody@example.org")
    ('https://example.org/x', 'https://localhost:8080/', None)
    """
    text = text.strip()
    if SCHEMED.match(text):
        return absolute(text)
    text = text.removeprefix("//")
    is_mail = "@" in text.partition("/")[0]
    return None if is_mail else absolute(f"https://{text}")


@lru_cache(maxsize=16_384)
def identity(address: str, drop: DropParameters = DEFAULT) -> str:
    """The page's name, the same for all addresses that are this page; ValueError for no address.

    >>> identity("HTTP://me:pw@H.Example.:80/a;jsessionid=1?utm_x&b=1#c")
    'h.example/a?b=1'
    """
    whole = absolute(address)
    if whole is None:
        raise ValueError(f"no web address: {address[:200]!r}")
    host, slash, rest = whole.partition("://")[2].partition("/")
    path, mark, query = rest.partition("?")
    if ";" in path:
        path = SESSION_IN_PATH.sub("", path)
    if query and not (query := drop.without(query)):
        mark = ""
    return f"{_without_dot(host)}{slash}{path}{mark}{query}"


def address_of(identity: str, scheme: str) -> str:
    """
    >>> address_of("h.example:8080/a?b", "https")
    'https://h.example:8080/a?b'
    """
    return f"{scheme}://{identity}"


def lane_of(identity: str) -> str:
    """Whom to ask: the host, with its port if that is not the usual one.

    >>> lane_of("h.example:8080/a"), lane_of("[::1]/a")
    ('h.example:8080', '[::1]')
    """
    return identity.partition("/")[0]


def host_of(identity: str) -> str:
    """The host without port.

    >>> host_of("h.example:8080/a"), host_of("[::1]:8080/a")
    ('h.example', '[::1]')
    """
    lane = lane_of(identity)
    end = lane.find("]") + 1 or lane.find(":")
    return lane if end < 0 else lane[:end]


domain_of = host_of


@lru_cache(maxsize=4096)
def registrable(host: str) -> str:
    """The part of a host's name that somebody could register; the host itself if there is none.

    >>> [registrable(host) for host in ("a.b.example.co.uk", "localhost", "127.0.0.1", "[::1]")]
    ['example.co.uk', 'localhost', '127.0.0.1', '[::1]']
    """
    if _is_number(host):  # the list would take the end of it for a domain
        return host
    return _suffixes().privatesuffix(host) or host


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _is_number(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _asked(href: str) -> str | None:
    if not href.startswith(WEB):
        return None
    href = href.partition("#")[0]
    if "@" not in href:
        return href
    url = URL(href)
    url.username = url.password = ""
    return url.href


def _without_dot(host: str) -> str:
    name, colon, port = host.partition(":") if host[0] != "[" else (host, "", "")
    if name[-1:] == "." and name[:-1].rstrip(".") == name[:-1] != "":  # two end no name of the DNS
        name = name[:-1]
    return f"{name}{colon}{port}"


def _with_query_in(encoding: str, reference: str) -> str:
    """The query as a browser writes it: in the page's own encoding, everything else in UTF-8."""
    codec = codec_of(encoding)
    if codec is None:
        return reference
    front, hash_, fragment = reference.partition("#")
    front, mark, query = front.partition("?")
    query = NOT_ASCII.sub(lambda found: _escaped(found[0].encode(codec, UNKNOWN)), query)
    return f"{front}{mark}{query}{hash_}{fragment}"


def _escaped(encoded: bytes) -> str:
    return "".join(f"%{each:02X}" if each in ESCAPED else chr(each) for each in encoded)


@cache
def codec_of(encoding: str) -> str | None:
    """None for what is written as UTF-8 in an address."""
    name = encoding.lower()
    if name in NO_ENCODER:
        return None
    try:
        return codecs.lookup(CODECS.get(name, name)).name
    except LookupError:
        return None
