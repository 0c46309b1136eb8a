"""The note that travels with a page's URI through its pools: the address it is asked by.

A sitemap is asked for like a page, but what it lists are seeds; what belongs to a page is asked
for, and kept. Their notes say so.
"""

from __future__ import annotations

import re

SITEMAP, REQUISITE = "sitemap ", "requisite "
BEFORE = re.compile(rf"{SITEMAP}|{REQUISITE}(\d+) ")


def note_of(address: str, is_sitemap: bool = False) -> str:
    return f"{SITEMAP}{address}" if is_sitemap else address


def note_of_requisite(address: str, hops: int) -> str:
    """After so many redirects."""
    return f"{REQUISITE}{hops} {address}"


def is_sitemap(note: str | None) -> bool:
    return note is not None and note.startswith(SITEMAP)


def is_requisite(note: str | None) -> bool:
    return note is not None and note.startswith(REQUISITE)


def hops_in(note: str | None) -> int:
    """
    >>> hops_in(note_of_requisite("https://h.example/a.png", 2)), hops_in("https://h.example/")
    (2, 0)
    """
    found = BEFORE.match(note or "")
    return int(found[1] or 0) if found else 0


def address_in(note: str) -> str:
    """
    >>> address_in(note_of("https://h.example/sitemap.xml", is_sitemap=True))
    'https://h.example/sitemap.xml'
    """
    found = BEFORE.match(note)
    return note[found.end() :] if found else note
