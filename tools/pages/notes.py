"""The note that travels with a page's URI through its pools: the address it is asked by.

A sitemap is asked for like a page, but what it lists are seeds; its note says so.
"""

from __future__ import annotations

SITEMAP = "sitemap "


def note_of(address: str, is_sitemap: bool = False) -> str:
    return f"{SITEMAP}{address}" if is_sitemap else address


def is_sitemap(note: str | None) -> bool:
    return note is not None and note.startswith(SITEMAP)


def address_in(note: str) -> str:
    """
    >>> address_in(note_of("https://h.example/sitemap.xml", is_sitemap=True))
    'https://h.example/sitemap.xml'
    """
    return note.removeprefix(SITEMAP)
