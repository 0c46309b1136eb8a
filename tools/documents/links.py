"""The links of a page, of its markup and of the headers it came with.

Promise: each is resolved, in the order of the page, once for each kind; one that is written with
and without `nofollow` is followed.
Limit: 50,000 different references of a page are resolved, the others counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .address import LONGEST, resolve

MOST = 50_000
FOLLOWED = frozenset({"a", "area", "iframe", "frame", "refresh"})
"""Kinds that lead a reader on; the others say how pages belong together."""

RELATIONS = {name: name for name in ("next", "prev", "canonical", "alternate")}
RELATIONS["previous"] = "prev"
RELATIVE_TO_FOLDER = re.compile(r"[\w./][^:?]*", re.ASCII)
SHORT = 256
REFRESH = re.compile(
    r"""\s*(?:\d+[\d.]*|\.[\d.]*)(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?(?:'([^']*)|"([^"]*)|(.*))""",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)


class Link(NamedTuple):
    """Where a page leads, and how: `rel` is lower case, with single blanks."""

    kind: str
    address: str
    rel: str = ""

    @property
    def nofollow(self) -> bool:
        return "nofollow" in self.rel and "nofollow" in self.rel.split()


class Links:
    """Those of one page, while it is read."""

    def __init__(self, base: str, encoding: str = "utf-8") -> None:
        self._base = base
        self._folder = base.partition("?")[0].rpartition("/")[0] + "/"
        self._encoding = encoding
        self._resolved: dict[str, str | None] = {}
        self._found: dict[tuple[str, str], str] = {}
        self.left_out = 0

    def add(self, kind: str, reference: str, rel: str | None = None) -> None:
        address = self._address(reference)
        if address is None:
            return
        rel = " ".join(rel.lower().split()) if rel else ""
        known = self._found.setdefault((kind, address), rel)
        if "nofollow" in known and "nofollow" not in rel:
            self._found[kind, address] = rel

    def add_related(self, reference: str, rel: str) -> None:
        """Of an element or header `Link`: only what relates two pages."""
        words = rel.lower().split()
        if "stylesheet" in words:  # an alternate one is no page
            return
        for word in dict.fromkeys(words):
            if word in RELATIONS:
                self.add(RELATIONS[word], reference, rel)

    def __iter__(self) -> Iterator[Link]:
        return (Link(kind, address, rel) for (kind, address), rel in self._found.items())

    def _address(self, reference: str) -> str | None:
        """Most pages name the same few addresses again and again, with other fragments."""
        place = reference.partition("#")[0]
        if place and place[-1] <= " ":  # before a fragment a blank belongs to the path
            place = reference
        try:
            return self._resolved[place]
        except KeyError:
            return self._newly_resolved(place)

    def _newly_resolved(self, place: str) -> str | None:
        if len(self._resolved) >= MOST:
            self.left_out += 1
            return None
        if len(place) < SHORT and RELATIVE_TO_FOLDER.fullmatch(place):
            address = _in_folder(self._folder, place)
        else:
            address = resolve(self._base, place, self._encoding)
        self._resolved[place] = address
        return address


@lru_cache(maxsize=32_768)
def _in_folder(folder: str, place: str) -> str | None:
    """The pages of a folder share most of their links: its bars and menus."""
    return resolve(folder, place)


def refresh_of(content: str) -> str | None:
    """The reference of a refresh, None if it only loads the same page again.

    >>> refresh_of("5; URL='next.html'"), refresh_of("0,next.html"), refresh_of("30")
    ('next.html', 'next.html', None)
    """
    found = REFRESH.match(content[:LONGEST])
    return next(filter(None, found.groups()), None) if found else None


def header_links(headers: Iterable[tuple[str, str]], address: str) -> list[Link]:
    """Links of the headers Refresh and Link, which are relative to the page's own address.

    >>> header_links([("Link", '</b>; rel="next"'), ("refresh", "0;url=/c")], "http://h.example/a")
    ... # doctest: +NORMALIZE_WHITESPACE
    [Link(kind='next', address='http://h.example/b', rel='next'),
     Link(kind='refresh', address='http://h.example/c', rel='')]
    """
    links = Links(address)
    for name, value in headers:
        if name.lower() == "link":
            from requests.utils import parse_header_links  # takes its time to load

            for each in parse_header_links(value[:LONGEST]):
                links.add_related(each["url"], each.get("rel", ""))
        elif name.lower() == "refresh" and (reference := refresh_of(value)):
            links.add("refresh", reference)
    return list(links)
