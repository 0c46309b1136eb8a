"""Worker: one downloaded page -> its links, title and words.

What is read is a function of the bytes, the headers and the address; it needs no network, and a
page that was downloaded before a restart is read from the archive.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..documents.address import DropParameters, identity
from ..documents.html import Document, is_html, read, requisites_in
from ..documents.links import Link as Found
from ..documents.links import header_links
from ..documents.robots_tags import header_wishes
from ..documents.sitemap import read_sitemap
from ..engine.stage import Done, Task
from ..engine.stage import Found as Wanted
from .brought import Brought
from .found import requisites_found
from .notes import is_sitemap
from .page import Analysed, Link

logger = logging.getLogger(__name__)

MOST_REQUISITES = 1000  # of a page
NEEDS_BROWSER = "nothing to read without scripts"


@dataclass(frozen=True, slots=True)
class Body:
    """An answer as the analysis needs it; the luggage of its task."""

    address: str
    headers: Sequence[tuple[str, str]]
    content: bytes = field(repr=False)

    def __sizeof__(self) -> int:
        """With its content: whoever carries luggage wants to know how heavy it is."""
        return object.__sizeof__(self) + sys.getsizeof(self.content)

    @property
    def content_type(self) -> str | None:
        return header(self.headers, "content-type")


Extract = Callable[[Mapping[str, Any], Document], Mapping[str, Any]]
"""A user's own: what else is to be kept of a page."""


class Analyse:
    def __init__(
        self,
        archived: Callable[[str], Body | None],
        drop: DropParameters,
        max_bytes: int,
        counts_words: bool = True,
        extract: Extract | None = None,
        wants_requisites: bool = False,
    ) -> None:
        """`archived` gives a page's answer back when its task lost it; `wants_requisites`: what
        belongs to a page is asked for, too."""
        self._archived = archived
        self._drop = drop
        self._max_bytes = max_bytes
        self._counts_words = counts_words
        self._extract = extract
        self._wants_requisites = wants_requisites

    def __call__(self, task: Task) -> Done:
        body = task.luggage if isinstance(task.luggage, Body) else self._archived(task.uri)
        if body is None:  # nobody keeps it, or the archive has lost it
            return Done("to_download")
        analysed = self.read(task, body)
        tally, links = tally_of(analysed), tuple(analysed.links)
        found = list(self._requisites(task, body)) if self._wants_requisites else ()
        return Done("to_control", found, Brought([analysed]), tally, luggage=links)

    def read(self, task: Task, body: Body) -> Analysed:
        if is_sitemap(task.note):
            return Analysed(url=task.uri, links=self._of_sitemap(body))
        if not is_html(body.content_type, body.content):
            links = header_links(body.headers, body.address)
            return Analysed(url=task.uri, links=self._links(links))
        if len(body.content) > self._max_bytes:
            size = f"{len(body.content):,} bytes"
            return Analysed(url=task.uri, remark=f"too large to be read for links ({size})")
        return self._of_html(task.uri, body)

    def _of_html(self, url: str, body: Body) -> Analysed:
        document = read(body.content, body.content_type, body.address)
        wishes = document.meta_robots | header_wishes(body.headers)
        links = [*document.links, *header_links(body.headers, body.address)]
        extra, remark = self._extracted(url, body, document)
        return Analysed(
            url=url,
            links=self._links(links, nofollow="nofollow" in wishes),
            words=document.words if self._counts_words else {},
            title=document.title,
            charset=document.charset,
            canonical=document.canonical,
            remark=remark or (NEEDS_BROWSER if document.needs_browser else None),
            extra=extra,
        )

    def _requisites(self, task: Task, body: Body) -> Iterator[Wanted]:
        is_small = len(body.content) <= self._max_bytes
        if is_small and not is_sitemap(task.note) and is_html(body.content_type, body.content):
            found = requisites_in(body.content, body.content_type, body.address)
            yield from requisites_found(found[:MOST_REQUISITES], self._drop, task.depth)

    def _of_sitemap(self, body: Body) -> list[Link]:
        found = read_sitemap(body.content, body.content_type)
        pages = [Found("sitemap entry", each) for each in found.addresses]
        return self._links([*pages, *(Found("sitemap", each) for each in found.sitemaps)])

    def _links(self, found: Iterable[Found], nofollow: bool = False) -> list[Link]:
        """Each page once for each kind, in the order of the document."""
        links: dict[tuple[str, str], Link] = {}
        for each in found:
            url = identity(each.address, self._drop)
            link = Link(url, each.address, each.kind, nofollow or each.nofollow)
            known = links.setdefault((url, each.kind), link)
            if known is not link and known.nofollow and not link.nofollow:
                links[url, each.kind] = link
        return list(links.values())

    def _extracted(
        self, url: str, body: Body, document: Document
    ) -> tuple[Mapping[str, Any] | None, str | None]:
        """A user's function may be wrong for one page; the page and the crawl go on."""
        if self._extract is None:
            return None, None
        try:
            page = {"url": url, "address": body.address, "headers": list(body.headers)}
            return dict(self._extract({**page, "body": body.content}, document)), None
        except Exception as error:
            logger.exception("extract failed uri=%r", url)
            return None, f"extract failed: {error!r}"


def tally_of(page: Analysed) -> dict[str, int]:
    return {"words": sum(page.words.values()), "links": len(page.links)}


def header(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    """The first of this name."""
    return next((value for key, value in headers if key.lower() == name), None)
