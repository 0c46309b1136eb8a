"""What anybody may ask a table of pages in a database that speaks SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from . import statements as say
from .page import ArchiveFile, Capture, Host, Link, Page, PagePath
from .rows import as_json, read_links, unpacked, with_uncounted
from .schema import FILE
from .table import Counts, Known, Linking, Word

LAST = "\U0010ffff"  # after every text

Row = tuple[Any, ...]


class SqlReading(ABC):
    @abstractmethod
    def _ask(self, statement: str, **values: object) -> list[Row]:
        """Outside of a transaction, from any thread."""

    def owner(self) -> str | None:
        rows = self._ask(say.READ_OWNER)
        return rows[0][0] if rows else None

    def known(self, urls: Sequence[str]) -> dict[str, Known]:
        rows = self._ask(say.READ_KNOWN, rows=as_json(list(urls)))
        return {row[0]: Known(*row[1:]) for row in rows}

    def page(self, url: str) -> Page | None:
        rows = self._ask(say.READ_PAGE, url=url)
        return _page(rows[0]) if rows else None

    def pages(self, below: str = "", after: str = "") -> Iterator[Page]:
        rows = self._by_key(
            say.READ_PAGES, after, lambda row: row[0], first=below, last=below + LAST
        )
        return map(_page, rows)

    def first(self, most: int) -> list[Page]:
        return [_page(row) for row in self._ask(say.READ_FIRST, most=most)]

    def largest(self, most: int) -> list[tuple[str, int]]:
        return [(row[0], row[1]) for row in self._ask(say.READ_LARGEST, most=most)]

    def path_of(self, url: str) -> PagePath:
        rows = self._ask(say.READ_PATHS_OF, url=url)
        return tuple(orjson.loads(rows[0][0])[0]) if rows else ()

    def links_of(self, url: str) -> list[Link]:
        rows = self._ask(say.READ_LINKS, url=url)
        return read_links(*rows[0][4:]) if rows else []

    def linking(self, depth: int) -> Iterator[Linking]:
        rows = self._by_key(say.READ_LINKING, -1, lambda row: row[0], depth=depth)
        return (Linking(row[1], row[2], read_links(*row[4:])) for row in rows)

    def captures(self, url: str) -> list[Capture]:
        return [Capture(*row) for row in self._ask(say.READ_CAPTURES, url=url)]

    def captures_in(self, file: str) -> Iterator[tuple[str | None, Capture]]:
        rows = self._by_key(say.READ_CAPTURES_IN, -1, lambda row: row[7], file=file)
        return ((row[0], Capture(*row[1:])) for row in rows)

    def latest(self, after: int) -> Iterator[tuple[int, str, Capture]]:
        rows = self._by_key(say.READ_LATEST, after, lambda row: row[0])
        return ((row[0], row[1], Capture(*row[2:])) for row in rows)

    def digest_known(self, digest: str) -> Capture | None:
        rows = self._ask(say.READ_DIGEST, digest=digest)
        return Capture(*rows[0]) if rows else None

    def ends_of_files(self) -> dict[str, int]:
        return {each.name: each.bytes for each in self.files()}

    def files(self) -> list[ArchiveFile]:
        rows = self._ask(say.READ_FILES)
        return [ArchiveFile(**dict(zip(FILE, row, strict=True))) for row in rows]

    def host(self, name: str) -> Host | None:
        rows = self._ask(say.READ_HOST, name=name)
        return Host(*rows[0]) if rows else None

    def hosts(self) -> Iterator[Host]:
        return (Host(*row) for row in self._by_key(say.READ_HOSTS, "", lambda row: row[0]))

    def words(self, top: int) -> list[Word]:
        rows = self._ask(say.READ_WORDS, top=top)
        uncounted = [unpacked(row[3]) for row in rows if row[3] is not None]
        counted = [Word(*row[:3]) for row in rows if row[3] is None]
        return with_uncounted(counted, uncounted)[:top] if uncounted else counted

    def words_of(self, url: str) -> dict[str, int]:
        rows = self._ask(say.READ_WORDS_OF, url=url)
        return unpacked(rows[0][0]) if rows else {}

    def counts(self) -> Counts:
        return Counts(*(dict(self._ask(statement)) for statement in say.READ_COUNTS))

    def _by_key(
        self, statement: str, after: object, key: Callable[[Row], object], **values: object
    ) -> Iterator[Row]:
        while rows := self._ask(statement, after=after, **values):
            yield from rows
            after = key(rows[-1])


def _page(row: Row) -> Page:
    page = Page(*row)
    return page._replace(
        paths=orjson.loads(row[4]),
        sub_urls=None if row[5] is None else orjson.loads(row[5]),
        extra=None if row[-1] is None else orjson.loads(row[-1]),
    )
