"""What a host asks of machines in the headers of a file.

Promise: a wish is heard in every header that may hold one, and only if it is meant for us.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from urllib3 import HTTPHeaderDict

OUR_NAME = "sheaf"
WITH_VALUE = frozenset(  # directives that are written as if they were the name of an agent
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
LONGEST_REMARK = 200


def forbidden_by(headers: Mapping[str, str], refuse: Collection[str]) -> str | None:
    """The word by which a host forbids what we do.

    >>> forbidden_by({"X-Robots-Tag": "otherbot: noai, sheaf: nofollow, noindex"}, {"noindex"})
    'noindex'
    """
    if "1" in (value.strip() for value in _instances(headers, "tdm-reservation")):
        return "tdm-reservation"
    said = (word for value in _instances(headers, "X-Robots-Tag") for word in directives(value))
    return next((word for word in said if word in refuse), None)


def directives(value: str) -> Iterator[str]:
    """The words of an X-Robots-Tag that are meant for everybody or for us.

    >>> list(directives("noai, otherbot: noindex, nofollow, *: NoImageAI, max-snippet: 9"))
    ['noai', 'noimageai', 'max-snippet']
    """
    is_for_us = True
    for part in value.lower().split(","):
        name, colon, word = (each.strip() for each in part.partition(":"))
        if colon and name not in WITH_VALUE:
            is_for_us = name in ("*", OUR_NAME)
            name = word
        if is_for_us and name:
            yield from ("noindex", "nofollow") if name == "none" else (name,)


def wishes_in(headers: Mapping[str, str]) -> str | None:
    """All that is asked of those who use the file, for the record."""
    said = "; ".join(
        f"{name}: {value}"
        for name in ("X-Robots-Tag", "TDM-Policy")
        for value in _instances(headers, name)
    )
    return "".join(filter(str.isprintable, said))[:LONGEST_REMARK] or None


def _instances(headers: Mapping[str, str], name: str) -> Sequence[str]:
    """Every header of this name; joined, one for another agent would swallow the next."""
    if isinstance(headers, HTTPHeaderDict):
        return headers.getlist(name)
    return [headers[name]] if name in headers else []
