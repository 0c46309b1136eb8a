"""The addresses a sitemap lists: XML, broken XML, or a line each; packed or not.

Promise: never raises for what a file holds; entities are not expanded, and no more than 50 MB are
unpacked.
Limit: 50,000 addresses of a file, as its format says. What has a document type or is no XML is read
like a broken page, of which the first 10 MB count.
"""

from __future__ import annotations

import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from xml.parsers import expat

from .address import LONGEST, absolute
from .html import texts_in

MOST_ENTRIES = 50_000
MOST_BYTES = 50_000_000
MOST_LENIENT = 10_000_000
LINE = re.compile(rb"[^\s][^\r\n]*")
GZIP = b"\x1f\x8b"
LISTED_IN = ("url", "sitemap")  # a `loc` of another element is a picture or a film
BEFORE_MARKUP = "\xef\xbb\xbf\xff\xfe\x00 \t\r\n"

Entry = tuple[str, str]
"""The element around it, and its text."""


@dataclass(frozen=True)
class SitemapPage:
    """Pages to ask for, and further sitemaps to read."""

    addresses: list[str]
    sitemaps: list[str]


def read_sitemap(body: bytes, content_type: str | None = None) -> SitemapPage:
    body = _unpacked(body)
    if not _is_markup(body):
        return _sorted_out(("url", line) for line in _lines(body))
    try:
        return _sorted_out(_entries(body))
    except (expat.ExpatError, _Refused, ValueError, LookupError):
        bare = body[:MOST_LENIENT].replace(b"<![CDATA[", b"").replace(b"]]>", b"")  # HTML has none
        return _sorted_out(texts_in(bare, content_type, "loc"))


class _Refused(Exception):
    """A document type: whoever writes one into a sitemap means to expand something."""


class _Enough(Exception):
    """As many entries as a file may have."""


class _Reader:
    """Collects what stands in `loc`, whatever its namespace."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self._room = 0

    def start(self, name: str, _: object) -> None:
        self._open.append(name.rpartition(" ")[2].lower())
        if self._open[-1] == "loc":
            self._text, self._room = [], LONGEST

    def end(self, _: str) -> None:
        if self._open.pop() != "loc":
            return
        self._room = 0
        if self._open and self._open[-1] in LISTED_IN:
            self.entries.append((self._open[-1], "".join(self._text)))
        if len(self.entries) >= MOST_ENTRIES:
            raise _Enough

    def text(self, data: str) -> None:
        if self._room > 0:
            self._text.append(data)
            self._room -= len(data)

    def refuse(self, *_: object) -> None:
        raise _Refused


def _entries(body: bytes) -> list[Entry]:
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    with suppress(_Enough):
        parser.Parse(body.lstrip(), True)
    return reader.entries


def _sorted_out(entries: Iterable[Entry]) -> SitemapPage:
    addresses: dict[str, None] = {}
    sitemaps: dict[str, None] = {}
    for around, text in islice(entries, MOST_ENTRIES):
        address = absolute(text)
        if address is not None:
            (sitemaps if around == "sitemap" else addresses)[address] = None
    return SitemapPage(list(addresses), list(sitemaps))


def _is_markup(body: bytes) -> bool:
    return body[:256].decode("latin-1").lstrip(BEFORE_MARKUP)[:1] == "<"


def _lines(body: bytes) -> Iterable[str]:
    found = LINE.finditer(body, len(BOM_UTF8) if body.startswith(BOM_UTF8) else 0)
    return (line[0].decode("utf-8", "replace") for line in found)


def _unpacked(body: bytes) -> bytes:
    """What can be had of it: the end of a file that was cut off is missing, not the rest."""
    if not body.startswith(GZIP):
        return body[:MOST_BYTES]
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, MOST_BYTES)
    except zlib.error:
        return b""
