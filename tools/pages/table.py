"""What a table of pages can do, wherever it is kept.

Promise: every write is all or nothing, and one that is repeated changes nothing any more. The first
result of a page stays. The words of the table are always the sum of those of its pages. Limit: one
crawl a table, one writer at a time; anybody may read meanwhile, from any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .page import ArchiveFile, Capture, Child, Host, Link, Page, PagePath, Record

PATHS_KEPT = 8  # besides the shortest


class Known(NamedTuple):
    """As much as decides whether a result is wanted."""

    state: int
    depth: int
    fetched_at: str | None


class Admitted(NamedTuple):
    """`sank` were known and have a shorter path now: whom they lead to must be looked at again."""

    new: frozenset[str]
    sank: frozenset[str]


class Written(NamedTuple):
    """`dropped` are pages whose first result stays; nothing of the second is stored."""

    dropped: frozenset[str]
    new: frozenset[str]
    sank: frozenset[str]


class Linking(NamedTuple):
    """A page and where it leads to."""

    url: str
    depth: int
    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class Word:
    word: str
    count: int
    pages: int


class Counts(NamedTuple):
    """Pages by what they have in common, the most frequent first; reasons are those of failures."""

    states: Mapping[int, int]
    depths: Mapping[int, int]
    domains: Mapping[str, int]
    statuses: Mapping[int, int]
    types: Mapping[str, int]
    reasons: Mapping[str, int]


class PageTable(Protocol):
    # --- by the one writer -----------------------------------------------------------------

    def check_owner(self, harvest: str) -> None:
        """StateDamaged if it is another's."""

    def claim(self, harvest: str) -> None:
        """The table is this harvest's from now on; StateDamaged if it is another's."""

    def admit(self, children: Sequence[Child]) -> Admitted:
        """Rows for pages that have none, paths for those that have."""

    def write(self, records: Sequence[Record]) -> Written: ...

    def count_words(self) -> None:
        """Into the table of words, for whoever reads it by himself; `words` knows them before."""

    def cut_back(self, file: str, bytes: int) -> list[str]:
        """The archive has lost what was in this file behind so many bytes, so it is not closed any
        more; the pages that were there, which are new again."""

    def close(self) -> None: ...

    # --- by anybody ------------------------------------------------------------------------

    def owner(self) -> str | None:
        """The harvest that claimed it."""

    def known(self, urls: Sequence[str]) -> dict[str, Known]: ...

    def page(self, url: str) -> Page | None: ...

    def path_of(self, url: str) -> PagePath:
        """The shortest."""

    def links_of(self, url: str) -> list[Link]: ...

    def linking(self, depth: int) -> Iterator[Linking]:
        """The pages of at most this depth whose links are known."""

    def pages(self, below: str = "", after: str = "") -> Iterator[Page]:
        """All of them by url, or those that begin so; behind a url, if one is named."""

    def first(self, most: int) -> list[Page]:
        """Fetched or failed, those nearest to a seed first."""

    def largest(self, most: int) -> list[tuple[str, int]]:
        """Urls and bytes."""

    def captures(self, url: str) -> list[Capture]: ...

    def captures_in(self, file: str) -> Iterator[tuple[str | None, Capture]]:
        """Each with the url of its page, in the order of the file."""

    def latest(self, after: int) -> Iterator[tuple[int, str, Capture]]:
        """The last good answer of each page, with its number and url: those behind a number, as
        they came in."""

    def digest_known(self, digest: str) -> Capture | None:
        """The first record that holds this payload in full."""

    def ends_of_files(self) -> dict[str, int]:
        """How many bytes of each file of the archive are committed."""

    def files(self) -> list[ArchiveFile]: ...

    def host(self, name: str) -> Host | None: ...

    def hosts(self) -> Iterator[Host]: ...

    def words(self, top: int) -> list[Word]: ...

    def words_of(self, url: str) -> dict[str, int]: ...

    def counts(self) -> Counts: ...
