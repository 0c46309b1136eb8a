"""Links that are pages of the crawl, as URIs for the pools, and what belongs to pages.

That has names of its own there, for the same address may be a page, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..documents.address import DropParameters, identity
from ..engine.stage import Found
from .notes import note_of, note_of_requisite
from .page import Link

MARK = "#requisite"  # no page has a fragment


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


def requisites_found(
    addresses: Iterable[str], drop: DropParameters, depth: int, hops: int = 0
) -> Iterator[Found]:
    """As URIs for the pools; as deep as their page, so that they come when its own kind does."""
    named = {identity(each, drop) + MARK: each for each in addresses}
    if named:
        notes = [note_of_requisite(each, hops) for each in named.values()]
        yield Found("download", list(named), depth=depth, notes=notes)
