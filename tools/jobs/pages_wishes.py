"""What is known of a crawl's downloads before they are looked at, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self, TypeVar

from ..archive.reader import Kept
from ..documents.address import DropParameters, identity, resolve
from ..engine.stage import Task
from ..errors import GiveUp
from ..network.request import REDIRECTS
from ..pages.analyse import Body
from ..pages.page import Link, Record
from ..settings import Settings

AHEAD = timedelta(days=1)  # of a node's clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wishes:
    """Of the crawl, as far as they decide what a download may give."""

    drop: DropParameters
    max_bytes: int
    reads_robots: bool
    reads_sitemaps: bool
    refetches: bool

    @classmethod
    def of(cls, settings: Settings, drop: DropParameters) -> Self:
        pages = settings.pages
        reads = pages.robots == "obey"
        again = pages.refetch_after_s is not None
        return cls(drop, pages.max_bytes, reads, reads and pages.sitemaps, again)

    def require_identity(self, link: Link) -> None:
        require(identity(link.address, self.drop) == link.url, "a link that is another")


def require(is_so: object, what: str) -> None:
    if not is_so:
        raise ValueError(f"a download that cannot be right: {what}")


def require_not_ahead(told: str) -> None:
    require(datetime.fromisoformat(told) < datetime.now(UTC) + AHEAD, "it is of tomorrow")


def lane(task: Task) -> str:
    return task.lane or ""


def of_kind(record: Record, kind: type[T]) -> T:
    if not isinstance(record, kind):
        raise ValueError(f"a download that cannot be right: it has no {kind.__name__}")
    return record


def require_sent(kept: Kept, address: str, told: str | None) -> None:
    """It leads where its answer says. What is not plain letters there nobody else can read for
    sure."""
    target = kept.header("Location") or ""
    is_redirect = kept.status in REDIRECTS and target.strip()
    if target.isascii():
        meant = resolve(address, target) if is_redirect else None
        require(told == meant, "its answer leads elsewhere")


def body_of(address: str, kept: Kept, most: int) -> Body | None:
    """None if it is packed in a way that only who asked could read."""
    try:
        return Body(address, kept.headers, kept.body(most))
    except GiveUp:
        return None
