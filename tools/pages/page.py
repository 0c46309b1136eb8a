"""What is known of a page, and the records by which the table learns it.

Workers make records, plain data that can travel; the one writer gives them to the table in batches.
A page's `url` is its identity (no scheme, no fragment), its `address` is what is asked. Moments are
texts as `moment` writes them, in UTC, so that they sort as they follow each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

NEW, FETCHED, FAILED = 0, 1, 2
STATES = {NEW: "waiting", FETCHED: "fetched", FAILED: "failed"}
"""The states of a page. A row is new before its download begins, and until it is analysed."""

PagePath = tuple[str, ...]
"""The pages from a seed to a page's parent: as long as links were walked, () for a seed."""


def moment(seconds: float) -> str:
    """
    >>> moment(0.5)
    '1970-01-01T00:00:00.500Z'
    """
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return f"{text.removesuffix('+00:00')}Z"


WALKS_NO_LINK = frozenset({"redirect", "refresh"})
"""Kinds of links that a browser follows by itself: they cost no depth."""


class Link(NamedTuple):
    """As it stands in a page. `kind` is the element or header that it comes from."""

    url: str
    address: str
    kind: str = "a"
    nofollow: bool = False


class Child(NamedTuple):
    """A page that is to have a row. Targets of redirects walk no link: they have the path of the
    page that sent us there."""

    url: str
    address: str
    path: PagePath = ()


class Capture(NamedTuple):
    """One record of the archive, of type `kind`; `length` is its own, packed."""

    address: str
    time: str
    status: int | None
    mime: str | None
    digest: str | None
    file: str
    offset: int
    length: int
    kind: str = "response"


# --- records ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A download came to its end. The row becomes, or stays, new until it is analysed; a `final`
    one has nothing to analyse (no HTML, a redirect) and its row is fetched at once, with no links
    but these.

    A page that is fetched already stays as it is, and this is dropped; unless what is stored is
    older than `stale_before`.
    """

    url: str
    fetched_at: str
    address: str
    status: int | None = None
    content_type: str | None = None
    charset: str | None = None
    bytes: int | None = None
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    redirect: str | None = None
    remark: str | None = None
    captures: Sequence[Capture] = ()
    final: bool = False
    links: Sequence[Link] = ()
    stale_before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """Asked again, and it is as it was: only the moment and the capture are new."""

    url: str
    fetched_at: str
    captures: Sequence[Capture] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """Links and words of a page: with them it is fetched. Dropped if it is already."""

    url: str
    links: Sequence[Link] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    title: str | None = None
    charset: str | None = None
    canonical: str | None = None
    remark: str | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Given up, for a reason that a person understands. What was stored before stays; a page that
    is fetched stays so, unless it is older than `stale_before`."""

    url: str
    remark: str
    status: int | None = None
    fetched_at: str | None = None
    captures: Sequence[Capture] = ()
    stale_before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """The pages that a page leads to and that are to be asked; they have rows afterwards."""

    url: str
    children: Sequence[Child] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Records of the archive that belong to no page: robots.txt, sitemaps."""

    captures: Sequence[Capture]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNews:
    """Of one host; numbers are added to what is known, None leaves it as it is. A host rests until
    a moment (seconds since 1970); 0 and "" say that it does not any more."""

    name: str
    scheme: str | None = None
    robots: str | None = None
    robots_at: float | None = None
    crawl_delay: float | None = None
    rests_until: float | None = None
    reason: str | None = None
    pages: int = 0
    failures: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    """A file of the archive; `bytes` are committed, what lies behind them is not. None leaves a
    field as it is."""

    name: str
    bytes: int
    sha256: str | None = None
    closed_at: str | None = None
    shipped_at: str | None = None


Record = Fetched | Unchanged | Analysed | Failed | Controlled | Captured | HostNews | ArchiveFile


# --- what is stored --------------------------------------------------------------------------


class Page(NamedTuple):
    """A row. `sub_urls` are None until it is analysed; `words` is how many there are in all."""

    url: str
    domain: str
    state: int
    remark: str | None
    paths: list[list[str]]
    sub_urls: list[str] | None
    fetched_at: str | None
    created_at: str
    updated_at: str
    address: str
    depth: int
    status: int | None
    content_type: str | None
    charset: str | None
    bytes: int | None
    title: str | None
    digest: str | None
    etag: str | None
    last_modified: str | None
    canonical: str | None
    redirect: str | None
    words: int | None
    extra: dict[str, Any] | None


class Host(NamedTuple):
    name: str
    scheme: str | None
    robots: str | None
    robots_at: float | None
    crawl_delay: float | None
    pages: int
    failures: int
    bytes: int
    seconds: float
    rests_until: float | None
    reason: str | None
