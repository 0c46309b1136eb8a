"""Links that are pages of the crawl, as URIs for the pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..engine.stage import Found
from .notes import note_of
from .page import Link


def found_of(links: Iterable[Link], depth: int = 0) -> Iterator[Found]:
    """All of one depth. One that is known and deeper sinks; if it was finished, whom it leads to is
    looked at again."""
    links = list(links)
    if links:
        yield Found(
            "download",
            [link.url for link in links],
            depth=depth,
            notes=[note_of(link.address, link.kind == "sitemap") for link in links],
            again="control",
        )
