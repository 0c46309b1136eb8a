"""What a page or its host asks of robots beside robots.txt: meta robots and X-Robots-Tag.

Promise: a wish counts if it is meant for everybody or for us by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..network.robots import OUR_NAME, directives

LONGEST = 8192
ADDRESSED_TO_US = frozenset({"robots", OUR_NAME})


def meta_wishes(name: str, content: str) -> frozenset[str]:
    """
    >>> sorted(meta_wishes("Robots", "NONE, noarchive")), meta_wishes("otherbot", "noindex")
    (['noarchive', 'nofollow', 'noindex'], frozenset())
    """
    if name.strip().lower() not in ADDRESSED_TO_US:
        return frozenset()
    return frozenset(_words(content))


def header_wishes(headers: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Each header by itself; joined, one for another robot would swallow the next.

    >>> sorted(header_wishes([("X-Robots-Tag", "otherbot: noindex"), ("x-robots-tag", "nofollow")]))
    ['nofollow']
    """
    tags = (value for name, value in headers if name.lower() == "x-robots-tag")
    return frozenset(word for value in tags for word in _words(value))


def _words(value: str) -> Iterable[str]:
    """Some write blanks where commas belong."""
    return (word for each in directives(value[:LONGEST]) for word in each.split())
