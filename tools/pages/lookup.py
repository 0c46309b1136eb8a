"""What whoever downloads has to know of the table: a few questions, which another machine may ask
as well. A table of pages answers them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .page import Capture
from .table import Known


class KnownPage(Protocol):
    """As much of a page as is told its host when it is asked for again."""

    @property
    def state(self) -> int: ...
    @property
    def etag(self) -> str | None: ...
    @property
    def last_modified(self) -> str | None: ...


class KnownHost(Protocol):
    """What its robots.txt said, and when that was read."""

    @property
    def robots(self) -> str | None: ...
    @property
    def robots_at(self) -> float | None: ...


class HostLookup(Protocol):
    def host(self, name: str) -> KnownHost | None: ...


class ArchiveLookup(Protocol):
    def captures(self, url: str) -> list[Capture]: ...
    def digest_known(self, digest: str) -> Capture | None: ...


class PageLookup(Protocol):
    def page(self, url: str) -> KnownPage | None: ...


class StateLookup(Protocol):
    def known(self, urls: Sequence[str]) -> dict[str, Known]: ...


class SameCounted(Protocol):
    """Told of each page that came, so that a host that gives one for all is found."""

    def fetched(self, lane: str, digest: str) -> None: ...
